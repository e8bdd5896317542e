"""A real Kubernetes cluster on this machine, from packages only."""
