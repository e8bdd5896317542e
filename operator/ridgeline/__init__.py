"""ridgeline: keeps vLLM Deployments on the speculation profile that is best for their load."""

__version__ = "0.1.0"
