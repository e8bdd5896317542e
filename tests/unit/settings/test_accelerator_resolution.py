"""The accelerator of a serving: a person's word, else what all its Pods' nodes have."""

import pytest

from ridgeline.policy.facts import Problem
from ridgeline.settings.accelerators import (
    AcceleratorOverride,
    ResolvedAccelerator,
    load_catalogue,
    resolve_accelerator,
)
from ridgeline.terms.reasons import Reason

GFD = "nvidia.com/gpu.product"
HOST = "kubernetes.io/hostname"
H100 = {GFD: "NVIDIA-H100-80GB-HBM3", HOST: "node-a"}
A100 = {GFD: "NVIDIA-A100-SXM4-80GB", HOST: "node-b"}
SHARED = {GFD: "NVIDIA-H100-80GB-HBM3-SHARED", HOST: "node-c"}
HOPPER = {"nvidia.com/gpu.compute.major": "9", "nvidia.com/gpu.memory": "81559", HOST: "node-d"}


def resolve(*nodes: dict[str, str], override: str | None = None) -> ResolvedAccelerator:
    found = resolve_accelerator(nodes, load_catalogue(), override)
    assert isinstance(found, ResolvedAccelerator), found
    return found


def refuse(*nodes: dict[str, str], override: str | None = None) -> Problem:
    found = resolve_accelerator(nodes, load_catalogue(), override)
    assert isinstance(found, Problem), found
    return found


def test_nodes_that_agree_decide() -> None:
    found = resolve(H100, H100 | {HOST: "node-z"})
    assert found.accelerator.name == "h100-sxm"
    assert found.found_by == f"{GFD}=NVIDIA-H100-80GB-HBM3"
    assert found.certain
    assert found.reasons == ()


def test_a_person_goes_before_every_label() -> None:
    for nodes in ((), (A100,), (H100, A100), (SHARED,), ({},)):
        found = resolve(*nodes, override="h100-sxm")
        assert found.accelerator.name == "h100-sxm"
        assert found.found_by == "spec.accelerator"


def test_an_unknown_name_is_told_with_those_that_are_known() -> None:
    problem = refuse(H100, override="h1000")
    assert problem.reason is Reason.ACCELERATOR_UNKNOWN
    assert "'h1000'" in problem.message
    assert "h100-sxm" in problem.message
    assert "l4" in problem.message


def test_without_nodes_there_is_a_condition_and_a_way_out() -> None:
    problem = refuse()
    assert problem.reason is Reason.ACCELERATOR_NOT_READABLE
    assert "set spec.accelerator to one of h100-sxm" in problem.message


def test_several_types_hold_and_say_where() -> None:
    problem = refuse(H100, A100, H100)
    assert problem.reason is Reason.ACCELERATOR_MIXED
    assert "a100-sxm-80gb on node-b; h100-sxm on node-a" in problem.message


def test_of_many_nodes_three_are_named() -> None:
    problem = refuse(*(H100 | {HOST: f"n{index}"} for index in range(9)), A100)
    assert "h100-sxm on n0, n1, n2 and 6 more" in problem.message


@pytest.mark.parametrize("nodes", [(H100, SHARED), (SHARED, H100)])
def test_one_shared_node_holds_all_and_is_named(nodes: tuple[dict[str, str], ...]) -> None:
    problem = refuse(*nodes)
    assert problem.reason is Reason.ACCELERATOR_SHARED
    assert problem.message.startswith("node node-c: ")


@pytest.mark.parametrize("nodes", [(H100, HOPPER), (HOPPER, H100), (HOPPER,)])
def test_the_least_certain_node_speaks_for_its_type(nodes: tuple[dict[str, str], ...]) -> None:
    found = resolve(*nodes)
    assert found.accelerator.name == "h100-sxm"
    assert not found.certain
    assert "to recommend only" in found.reasons[0]


@pytest.mark.parametrize("override", [None, "rtx-4090"])
def test_a_row_that_was_not_checked_says_so_and_stays_usable(override: str | None) -> None:
    found = resolve({GFD: "NVIDIA-GeForce-RTX-4090"}, override=override)
    assert found.certain
    (reason,) = found.reasons
    assert "from memory and were not checked" in reason


def test_a_refused_profile_leaves_its_row_to_recommend_only() -> None:
    catalogue = load_catalogue().with_overrides(
        [AcceleratorOverride(name="h100-sxm", bandwidth_gb_s=0)]
    )
    found = resolve_accelerator([H100], catalogue, None)
    assert isinstance(found, ResolvedAccelerator)
    assert not found.certain
    assert "AcceleratorProfile h100-sxm cannot be used" in found.reasons[0]


def test_naming_a_refused_profile_tells_why_it_was_refused() -> None:
    catalogue = load_catalogue().with_overrides([AcceleratorOverride(name="gb10")])
    found = resolve_accelerator([], catalogue, "gb10")
    assert isinstance(found, Problem)
    assert "set them, or use a name of the catalogue" in found.message
