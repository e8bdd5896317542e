"""Judging the first new Pods of a roll: whether they start, and whether they do better."""
