"""Where a serving's cut-off table comes from: ranges, a preset, or the accelerator's ridge."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.api.cutoff import Cutoff, CutoffRange
from ridgeline.costmodel.table import CutoffTable
from ridgeline.policy.facts import Problem
from ridgeline.settings.accelerators import load_catalogue
from ridgeline.settings.cutoffs import RidgeInputs
from ridgeline.settings.inherit import resolve_spec
from ridgeline.settings.sources import Origin, Source, Sourced
from ridgeline.terms.precision import Precision
from ridgeline.terms.reasons import Reason
from ridgeline.terms.verdict import Verdict
from tests.unit.settings.asked import PROFILES, UNKNOWN, policy, serving, settled

H100 = load_catalogue().named("h100-sxm")


def inputs(**changes: Any) -> RidgeInputs:
    assert H100 is not None
    good = RidgeInputs(accelerator=H100, precision=Precision.BF16, tensor_parallel=1)
    return replace(good, **changes)


def table(
    asked: Any = None, shared: Any = None, ridge: RidgeInputs | None = None
) -> CutoffTable | Problem:
    own = dict(asked or {})
    if "cutoff" not in own and "cutoff" not in (shared or {}):
        own["cutoff"] = {"strategy": "Ridge"}
    spec = serving(policyRef={"name": "shared"}, **own)
    resolved = resolve_spec(spec, ("shared", policy(**(shared or {}))))
    return settled(resolved, ridge).cutoff


def rows(found: CutoffTable | Problem) -> list[tuple[str, float | None, float | None]]:
    assert isinstance(found, CutoffTable)
    return [(row.profile, row.up_to, row.return_below) for row in found.rows]


def test_a_serving_that_asks_for_it_follows_the_ridge_of_its_gpu() -> None:
    found = table(ridge=inputs())
    assert rows(found) == [("eagle", 20.0, 16.0), ("ngram", 40.0, 32.0), ("none", None, None)]
    assert isinstance(found, CutoffTable)
    assert found.verdict is Verdict.YES


def test_the_precision_moves_the_ridge() -> None:
    halved = table(ridge=inputs(precision=Precision.W8A16))
    assert [row[1] for row in rows(halved)] == [10.0, 20.0, None]


def test_tensor_parallelism_reaches_the_rule() -> None:
    l4 = load_catalogue().named("l4")
    profiles = [
        {"name": "draft", "method": "DraftModel", "model": "a/b", "numSpeculativeTokens": 5},
        PROFILES[-1],
    ]
    one = table({"profiles": profiles}, ridge=inputs(accelerator=l4))
    four = table({"profiles": profiles}, ridge=inputs(accelerator=l4, tensor_parallel=4))
    assert len(rows(one)) == 2
    assert rows(four) == [("none", None, None)]
    assert isinstance(four, CutoffTable)
    assert four.verdict is Verdict.NO


def test_an_unknown_accelerator_is_told_and_only_where_the_ridge_needs_it() -> None:
    ridge = inputs(accelerator=UNKNOWN)
    assert table(ridge=ridge) == UNKNOWN
    fixed = {
        "cutoff": {"ranges": [{"profile": "eagle", "upToConcurrency": 9}, {"profile": "none"}]}
    }
    assert rows(table(fixed, ridge=ridge)) == [("eagle", 9.0, 7.0), ("none", None, None)]
    assert rows(table({"cutoff": {"preset": "h100-bf16"}}, ridge=ridge))[0][0] == "eagle"


@pytest.mark.parametrize(
    ("preset", "up_to", "below"), [("h100-bf16", 20.0, 16.0), ("h100-fp8", 32.0, 26.0)]
)
def test_a_preset_has_the_first_profile_that_speculates_and_the_disabled_one(
    preset: str, up_to: float, below: float
) -> None:
    expected = [("eagle", up_to, below), ("none", None, None)]
    assert rows(table({"cutoff": {"preset": preset}})) == expected
    assert rows(table(shared={"cutoff": {"preset": preset}})) == expected


def test_an_unknown_preset_is_told_with_those_that_there_are() -> None:
    found = table({"cutoff": {"preset": "h100"}})
    assert isinstance(found, Problem)
    assert found.reason is Reason.SPEC_INVALID
    for part in ("spec.cutoff.preset", "'h100'", "h100-bf16", "h100-fp8"):
        assert part in found.message
    assert "the preset is that of" not in found.message


def test_an_unknown_preset_of_a_policy_names_the_policy() -> None:
    found = table(shared={"cutoff": {"preset": "h100"}})
    assert isinstance(found, Problem)
    assert found.message.endswith("(the preset is that of policy shared)")


def test_without_a_profile_that_speculates_there_is_nothing_to_switch() -> None:
    found = table({"profiles": [PROFILES[-1]]}, ridge=inputs())
    assert rows(found) == [("none", None, None)]
    assert isinstance(found, CutoffTable)
    assert found.verdict is Verdict.NO


def test_ranges_that_no_rule_has_seen_are_a_problem_and_no_crash() -> None:
    wrong = Cutoff.model_construct(
        ranges=(CutoffRange(profile="eagle", up_to_concurrency=5), CutoffRange(profile="eagle"))
    )
    resolved = resolve_spec(serving(), None)
    source = Source(origin=Origin.POLICY, policy="shared")
    found = settled(replace(resolved, cutoff=Sourced(value=wrong, source=source))).cutoff
    assert isinstance(found, Problem)
    assert found.reason is Reason.SPEC_INVALID
    assert found.message.startswith("spec.cutoff.ranges of the policy shared: a profile stands in")
