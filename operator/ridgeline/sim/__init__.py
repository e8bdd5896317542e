"""Simulated replicas, traffic and clock; the vLLM stand-in server."""
