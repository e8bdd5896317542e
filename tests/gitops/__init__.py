"""What GitOps tools make of our objects, and what they do to a target that is being rolled."""
