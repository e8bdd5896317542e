"""Fixtures of the GitOps tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gitops.programs import Programs


@pytest.fixture(scope="session")
def programs(gitops_tools: Path) -> Programs:
    """What Argo CD and Flux run on our objects."""
    return Programs(folder=gitops_tools)
