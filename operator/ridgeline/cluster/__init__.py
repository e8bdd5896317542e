"""All calls to the Kubernetes API, and the watch store."""
