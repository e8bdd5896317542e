"""Prometheus → samples: named queries, batched."""
