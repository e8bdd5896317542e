"""What the demo and the end-to-end tests put on a cluster: stand-ins, a serving, the operator."""
