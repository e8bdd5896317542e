"""MIG slices: the Goodput strategy takes one for a small GPU, the ridge refuses it."""

from typing import Any

import pytest

from ridgeline.cluster.objects import PodObject, trim_deployment, trim_serving
from ridgeline.cluster.surroundings import NodeObject, Surroundings
from ridgeline.controller.basis import Basis, Knowledge, policy_settings
from ridgeline.controller.resolve import ResolvedTarget, resolve_target
from ridgeline.controller.view import spec_of
from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.facts import Problem
from ridgeline.policy.placement import Node
from ridgeline.policy.settings import PolicySettings
from ridgeline.settings.goodput import answer
from ridgeline.settings.resolve import profiles_of
from ridgeline.terms.reasons import Reason

LABELS = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"}
PROFILES = [
    {
        "name": "ngram",
        "method": "NGram",
        "numSpeculativeTokens": 3,
        "acceptancePercent": [70, 50, 35],
    },
    {"name": "none", "method": "Disabled"},
]


def basis_of(strategy: str, *flags: str, **fields: Any) -> tuple[Basis, PolicySettings]:
    """What is known of a serving whose Pod runs on a node with slices."""
    metadata = {"namespace": "n", "uid": "u", "resourceVersion": "1"}
    spec = {
        "targetRef": {"name": "llama"},
        "profiles": PROFILES,
        "cutoff": {"strategy": strategy},
        **fields,
    }
    serving = trim_serving(
        {
            "metadata": {**metadata, "name": "s", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": spec,
        }
    )
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.24.0",
        "args": [
            "--model=meta-llama/Llama-3.1-8B-Instruct",
            "--speculative-config=$(SPECULATION_CONFIG)",
            *flags,
        ],
        "envFrom": [{"configMapRef": {"name": "no-speculation"}}],
    }
    deployment = trim_deployment(
        {
            "metadata": {**metadata, "name": "llama"},
            "spec": {"template": {"spec": {"containers": [container]}}},
        }
    )
    around = Surroundings()
    around.nodes.put(
        NodeObject(
            name="node", uid="node", resource_version="1", node=Node(name="node", labels=LABELS)
        )
    )
    pod = PodObject(
        namespace="n",
        name="p",
        uid="p",
        resource_version="1",
        deployment="llama",
        profile=None,
        ready_since=None,
        deleting=False,
        node="node",
    )
    read = spec_of(serving)
    profiles = profiles_of(read)
    target = resolve_target(read, profiles, deployment, None)
    assert isinstance(target, ResolvedTarget), target
    basis = Knowledge(around).basis(serving, read, target, (pod,))
    settings = policy_settings(basis, profiles, answer, learned=None, frozen=False, forced=None)
    return basis, settings


def test_goodput_takes_a_slice_for_a_gpu_of_its_own() -> None:
    basis, settings = basis_of("Goodput")
    assert not isinstance(basis.accelerator, Problem), basis.accelerator
    assert basis.accelerator.accelerator.name == "h100-sxm-mig-3g.40gb"
    assert basis.pool == "h100-sxm-mig-3g.40gb"
    assert isinstance(settings.cutoff, CutoffTable)
    assert any("is a slice" in each for each in settings.cutoff.reasons)


def test_the_ridge_refuses_a_slice() -> None:
    basis, settings = basis_of("Ridge")
    assert isinstance(basis.accelerator, Problem)
    assert basis.accelerator.reason is Reason.ACCELERATOR_SHARED
    assert settings.cutoff == basis.accelerator


@pytest.mark.parametrize("fields", [{}, {"accelerator": "h100-sxm-mig-3g.40gb"}])
def test_an_engine_over_two_slices_is_refused_with_the_reason(fields: dict[str, Any]) -> None:
    _, settings = basis_of("Goodput", "--tensor-parallel-size=2", **fields)
    assert isinstance(settings.cutoff, Problem)
    assert settings.cutoff.reason is Reason.ACCELERATOR_SHARED
    assert "slices reach no other slice" in settings.cutoff.message
