"""Which Deployment a Pod's name tells of."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.telemetry.history_names import (
    owned_by,
    pods_pattern,
    workload_of,
    workload_pattern,
)

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", fullmatch=True)
hashes = st.text(ALPHABET, min_size=6, max_size=10)
suffixes = st.text(ALPHABET, min_size=5, max_size=5)


def pod_name(deployment: str, hashed: str, suffix: str) -> str:
    """As the API server generates it."""
    return f"{deployment}-{hashed}-"[:58] + suffix


@given(names, hashes, suffixes)
@settings(deadline=None, max_examples=50)
def test_every_pod_of_a_deployment_is_known_as_its_own(
    deployment: str, hashed: str, suffix: str
) -> None:
    pod = pod_name(deployment, hashed, suffix)
    assert owned_by(pod, deployment)
    if len(deployment) <= 46:
        assert workload_of(pod) == deployment
        assert re.fullmatch(workload_pattern(), pod)


@pytest.mark.parametrize(
    ("name", "deployment", "owned"),
    [
        ("llama-7c9f8d6b5-x2z4q", "llama", True),
        ("llama", "llama", True),
        ("llama-70b-7c9f8d6b5-x2z4q", "llama", False),
        ("llama-70b-7c9f8d6b5-x2z4q", "llama-70b", True),
        ("llama-0", "llama", False),
        ("llama-x2z4q", "llama", False),
        ("my.llama-7c9f8d6b5-x2z4q", "my.llama", True),
        ("myxllama-7c9f8d6b5-x2z4q", "my.llama", False),
    ],
)
def test_pods_of_others_are_not(name: str, deployment: str, owned: bool) -> None:
    assert owned_by(name, deployment) is owned


@pytest.mark.parametrize("name", ["llama-0", "bare", "llama-x2z4q"])
def test_a_name_that_tells_of_no_deployment_stands_for_itself(name: str) -> None:
    assert workload_of(name) == name


def test_the_patterns_hold_nothing_that_prometheus_reads_otherwise() -> None:
    """RE2 has no look-around, and a backslash would need escaping in a PromQL text."""
    for pattern in (workload_pattern(), pods_pattern("my.llama"), pods_pattern("l" * 60)):
        assert "\\" not in pattern
        assert "(?" not in pattern
