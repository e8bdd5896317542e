"""Kopf wiring, the tick and the event pass, the reconciler, own metrics."""
