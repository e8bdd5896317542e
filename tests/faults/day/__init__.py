"""Faults of a bad day, each struck at a small stage of three servings."""
