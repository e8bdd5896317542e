"""Whose word holds: the serving's, its policy's, or the default's."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.api import defaults
from ridgeline.api.cutoff import Cutoff
from ridgeline.policy.facts import Problem
from ridgeline.settings.explain import setting_lines
from ridgeline.settings.inherit import ResolvedSpec, resolve_spec
from ridgeline.settings.policies import named_policy
from ridgeline.settings.resolve import telemetry_of
from ridgeline.settings.sources import Origin, Source, Sourced
from ridgeline.terms.modes import Mode
from ridgeline.terms.objective import Preference
from ridgeline.terms.reasons import Reason
from tests.unit.settings.asked import policy, serving, settled

REF = {"name": "shared"}
RANGES = [{"profile": "eagle", "upToConcurrency": 20}, {"profile": "none"}]
RUSH = {"name": "rush", "cron": "0 8 * * *", "durationSeconds": 3600}
LUNCH = {"name": "lunch", "cron": "0 12 * * *", "durationSeconds": 1200}
ELSEWHERE = [{"profile": "medusa", "upToConcurrency": 20}, {"profile": "none"}]

NUMBERS = {
    "cooldownSeconds": (900, 10, defaults.COOLDOWN_SECONDS),
    "maxSwitchesPerDay": (2, 3, defaults.MAX_SWITCHES_PER_DAY),
    "telemetry": ("eu", "us", defaults.TELEMETRY),
}
"""What the policy says, what the serving says, and the default."""


def attribute(resolved: ResolvedSpec, field: str) -> Sourced[Any]:
    found: dict[str, Sourced[Any]] = {
        "cooldownSeconds": resolved.cooldown_seconds,
        "maxSwitchesPerDay": resolved.max_switches_per_day,
        "telemetry": resolved.telemetry,
        "busierSeconds": resolved.busier_seconds,
        "quieterSeconds": resolved.quieter_seconds,
    }
    return found[field]


def told(sourced: Sourced[Any]) -> tuple[Any, str]:
    return sourced.value, str(sourced.source)


@pytest.mark.parametrize("field", NUMBERS)
def test_the_serving_wins_over_the_policy_and_the_policy_over_the_default(field: str) -> None:
    shared, own, default = NUMBERS[field]
    named = ("shared", policy(**{field: shared}))
    both = resolve_spec(serving(policyRef=REF, **{field: own}), named)
    assert told(attribute(both, field)) == (own, "serving")
    of_policy = resolve_spec(serving(policyRef=REF), named)
    assert told(attribute(of_policy, field)) == (shared, "policy shared")
    nobody = resolve_spec(serving(policyRef=REF), ("shared", policy()))
    assert told(attribute(nobody, field)) == (default, "default")
    assert (both.problem, of_policy.problem, nobody.problem) == (None, None, None)


def test_each_dwell_is_resolved_by_itself() -> None:
    resolved = resolve_spec(
        serving(policyRef=REF, stabilization={"busierSeconds": 5}),
        ("shared", policy(stabilization={"busierSeconds": 7, "quieterSeconds": 70})),
    )
    assert told(resolved.busier_seconds) == (5, "serving")
    assert told(resolved.quieter_seconds) == (70, "policy shared")
    alone = resolve_spec(serving(stabilization={"quieterSeconds": 8}), None)
    assert told(alone.busier_seconds) == (defaults.BUSIER_SECONDS, "default")
    assert told(alone.quieter_seconds) == (8, "serving")


def test_nothing_said_differs_from_zero_said() -> None:
    resolved = resolve_spec(
        serving(policyRef=REF, cooldownSeconds=0, stabilization={"busierSeconds": 0}),
        ("shared", policy(cooldownSeconds=5, stabilization={"busierSeconds": 5})),
    )
    assert told(resolved.cooldown_seconds) == (0, "serving")
    assert told(resolved.busier_seconds) == (0, "serving")


def test_a_cutoff_is_taken_as_a_whole() -> None:
    named = ("shared", policy(cutoff={"ranges": RANGES}))
    shared = resolve_spec(serving(policyRef=REF), named)
    assert shared.cutoff.source == Source(origin=Origin.POLICY, policy="shared")
    assert shared.cutoff.value.profile_names == ("eagle", "none")
    own = resolve_spec(serving(policyRef=REF, cutoff={"strategy": "Ridge"}), named)
    assert told(own.cutoff)[1] == "serving"
    assert own.cutoff.value.ranges is None
    assert told(resolve_spec(serving(), None).cutoff) == (Cutoff(), "default")


def test_each_field_of_the_objective_is_resolved_by_itself() -> None:
    resolved = resolve_spec(
        serving(policyRef=REF, objective={"p99TPOTMilliseconds": 50}),
        ("shared", policy(objective={"p99TPOTMilliseconds": 90, "prefer": "Throughput"})),
    )
    assert told(resolved.p99_tpot_milliseconds) == (50, "serving")
    assert told(resolved.prefer) == (Preference.THROUGHPUT, "policy shared")
    nobody = resolve_spec(serving(objective={}), None)
    assert told(nobody.p99_tpot_milliseconds) == (None, "default")
    assert told(nobody.prefer) == (Preference.LATENCY, "default")
    lines = {field: (value, source) for field, value, source in setting_lines(resolved)}
    assert lines["objective.p99TPOTMilliseconds"] == ("50 ms", "serving")
    assert lines["objective.prefer"] == ("Throughput", "policy shared")


def test_schedules_are_taken_as_a_whole_and_an_empty_list_is_an_answer() -> None:
    own = [{**RUSH, "name": "own", "profile": "ngram", "timeZone": "Asia/Tokyo"}]
    shared = ("shared", policy(schedules=[{**RUSH, "freeze": True}, {**LUNCH, "crowd": "Short"}]))
    of_policy = resolve_spec(serving(policyRef=REF), shared)
    assert [each.name for each in of_policy.schedules.value] == ["rush", "lunch"]
    assert str(of_policy.schedules.source) == "policy shared"
    both = resolve_spec(serving(policyRef=REF, schedules=own), shared)
    assert [each.name for each in both.schedules.value] == ["own"]
    assert told(resolve_spec(serving(policyRef=REF, schedules=[]), shared).schedules) == (
        (),
        "serving",
    )
    assert told(resolve_spec(serving(), shared).schedules) == ((), "default")


def test_the_line_of_the_schedules_tells_each_with_its_times() -> None:
    asked = serving(
        schedules=[
            {**RUSH, "profile": "none", "timeZone": "Europe/Berlin"},
            {**LUNCH, "crowd": "Short"},
            {**LUNCH, "name": "quiet", "switchOn": "Forbidden"},
            {**LUNCH, "name": "launch", "freeze": True},
        ]
    )
    (line,) = [each for each in setting_lines(resolve_spec(asked, None)) if each[0] == "schedules"]
    assert line == (
        "schedules",
        "rush: profile none for 3600 s from 0 8 * * * Europe/Berlin; "
        "lunch: short crowd for 1200 s from 0 12 * * * UTC; "
        "quiet: no switching on for 1200 s from 0 12 * * * UTC; "
        "launch: freeze for 1200 s from 0 12 * * * UTC",
        "serving",
    )


def test_a_policy_that_the_serving_does_not_name_says_nothing() -> None:
    resolved = resolve_spec(serving(), ("shared", policy(cooldownSeconds=5)))
    assert told(resolved.cooldown_seconds) == (defaults.COOLDOWN_SECONDS, "default")
    assert resolved.policy is None
    other = resolve_spec(
        serving(policyRef={"name": "other"}), ("shared", policy(cooldownSeconds=5))
    )
    assert told(other.cooldown_seconds) == (defaults.COOLDOWN_SECONDS, "default")
    assert other.problem is not None
    assert other.problem.reason is Reason.POLICY_NOT_FOUND


def test_a_policy_that_does_not_exist_is_told_and_stops_the_serving() -> None:
    resolved = resolve_spec(serving(policyRef=REF, cutoff={"ranges": RANGES}, telemetry="eu"), None)
    settings = settled(resolved)
    assert isinstance(settings.cutoff, Problem)
    assert settings.cutoff.reason is Reason.POLICY_NOT_FOUND
    assert "'shared'" in settings.cutoff.message
    assert "create it, correct spec.policyRef.name, or remove spec.policyRef" in (
        settings.cutoff.message
    )
    assert telemetry_of(resolved) == "eu"


def test_ranges_of_a_policy_that_name_a_profile_which_the_serving_lacks() -> None:
    resolved = resolve_spec(
        serving(policyRef=REF), ("shared", policy(cutoff={"ranges": ELSEWHERE}))
    )
    settings = settled(resolved)
    assert isinstance(settings.cutoff, Problem)
    assert settings.cutoff.reason is Reason.SPEC_INVALID
    for part in ("policy shared", "'medusa'", "eagle, ngram, none"):
        assert part in settings.cutoff.message


def test_a_cutoff_of_its_own_frees_a_serving_from_the_policys_profiles() -> None:
    resolved = resolve_spec(
        serving(policyRef=REF, cutoff={"ranges": RANGES}),
        ("shared", policy(cutoff={"ranges": ELSEWHERE}, cooldownSeconds=5)),
    )
    assert resolved.problem is None
    assert resolved.policy == "shared"
    assert not isinstance(settled(resolved).cutoff, Problem)


def test_a_policy_that_cannot_be_read_is_told_by_its_name() -> None:
    name, found = named_policy("shared", {"cooldownSeconds": -1})
    assert isinstance(found, Problem)
    assert found.reason is Reason.SPEC_INVALID
    assert found.message.startswith("SpeculationPolicy shared: spec.cooldownSeconds is -1: ")
    resolved = resolve_spec(serving(policyRef=REF), (name, found))
    assert resolved.problem == found
    assert resolved.policy is None
    assert told(resolved.cooldown_seconds) == (defaults.COOLDOWN_SECONDS, "default")


def test_a_policy_of_a_newer_operator_is_followed_as_far_as_it_is_known() -> None:
    name, found = named_policy("shared", {"cooldownSeconds": 5, "later": True})
    resolved = resolve_spec(serving(policyRef=REF), (name, found))
    assert told(resolved.cooldown_seconds) == (5, "policy shared")


def test_mode_suspend_and_hardware_are_the_servings_alone() -> None:
    asked = serving(policyRef=REF, mode="Automatic", accelerator="h100-sxm")
    resolved = resolve_spec(asked, named_policy("shared", {"mode": "RecommendOnly"}))
    assert resolved.own is asked
    assert settled(resolved).mode is Mode.AUTOMATIC


def test_the_policys_values_are_those_that_are_decided_by() -> None:
    resolved = resolve_spec(
        serving(policyRef=REF, maxSwitchesPerDay=2),
        (
            "shared",
            policy(
                cutoff={"ranges": RANGES},
                cooldownSeconds=11,
                maxSwitchesPerDay=9,
                stabilization={"busierSeconds": 12, "quieterSeconds": 13},
                telemetry="eu",
            ),
        ),
    )
    settings = settled(resolved)
    assert (settings.cooldown_seconds, settings.max_switches_per_day) == (11.0, 2)
    assert settings.stabilization.busier_seconds == 12.0
    assert settings.stabilization.quieter_seconds == 13.0
    assert not isinstance(settings.cutoff, Problem)
    assert [row.up_to for row in settings.cutoff.rows] == [20.0, None]
    assert telemetry_of(resolved) == "eu"


def test_the_lines_of_explain_tell_every_value_with_its_source() -> None:
    resolved = resolve_spec(
        serving(policyRef=REF, cooldownSeconds=900),
        (
            "shared",
            policy(
                cutoff={"ranges": RANGES},
                stabilization={"quieterSeconds": 300},
                maxSwitchesPerDay=3,
            ),
        ),
    )
    assert setting_lines(resolved) == (
        ("cutoff.strategy", "Fixed", "policy shared"),
        (
            "cutoff.ranges",
            "eagle up to 20 (back below 16); none from there on",
            "policy shared",
        ),
        ("stabilization.busierSeconds", "60 s", "default"),
        ("stabilization.quieterSeconds", "300 s", "policy shared"),
        ("cooldownSeconds", "900 s", "serving"),
        ("maxSwitchesPerDay", "3", "policy shared"),
        ("objective.p99TPOTMilliseconds", "no limit", "default"),
        ("objective.prefer", "Latency", "default"),
        ("schedules", "none", "default"),
        ("telemetry", "default", "default"),
    )


@pytest.mark.parametrize(
    ("cutoff", "lines"),
    [
        (None, [("cutoff.strategy", "Goodput", "default")]),
        ({}, [("cutoff.strategy", "Goodput", "serving")]),
        (
            {"preset": "h100-fp8"},
            [("cutoff.strategy", "Fixed", "serving"), ("cutoff.preset", "h100-fp8", "serving")],
        ),
    ],
)
def test_the_lines_of_explain_tell_the_strategy(
    cutoff: dict[str, Any] | None, lines: list[tuple[str, str, str]]
) -> None:
    asked = serving() if cutoff is None else serving(cutoff=cutoff)
    found = setting_lines(resolve_spec(asked, None))
    assert [line for line in found if line[0].startswith("cutoff")] == lines


LAYER = st.fixed_dictionaries(
    {},
    optional={
        "cooldownSeconds": st.integers(0, 100),
        "maxSwitchesPerDay": st.integers(1, 10),
        "telemetry": st.sampled_from(["eu", "us"]),
        "stabilization": st.fixed_dictionaries(
            {},
            optional={"busierSeconds": st.integers(0, 9), "quieterSeconds": st.integers(0, 9)},
        ),
    },
)


@given(own=LAYER, shared=LAYER)
def test_every_value_is_that_of_its_source(own: dict[str, Any], shared: dict[str, Any]) -> None:
    resolved = resolve_spec(serving(policyRef=REF, **own), ("shared", policy(**shared)))
    for field in ("cooldownSeconds", "maxSwitchesPerDay", "telemetry"):
        layers = (("serving", own.get(field)), ("policy shared", shared.get(field)))
        check(told(attribute(resolved, field)), layers)
    for field in ("busierSeconds", "quieterSeconds"):
        said = [layer.get("stabilization", {}).get(field) for layer in (own, shared)]
        check(told(attribute(resolved, field)), (("serving", said[0]), ("policy shared", said[1])))


def check(found: tuple[Any, str], layers: tuple[tuple[str, Any], ...]) -> None:
    spoken = [(value, source) for source, value in layers if value is not None]
    if spoken:
        assert found == spoken[0]
    else:
        assert found[1] == "default"
