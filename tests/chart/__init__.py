"""Tests of what a person installs: the chart, the kustomize base, the image."""
