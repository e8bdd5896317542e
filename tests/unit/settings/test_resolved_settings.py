"""A serving's spec as the pure rooms' values."""

from typing import Any

import pytest

from ridgeline.api import defaults
from ridgeline.api.serving import parse_serving
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.policy.settings import Stabilization
from ridgeline.settings.resolve import profiles_of, settings_of, telemetry_of
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason

RANGES = [
    {"profile": "ngram", "upToConcurrency": 20, "returnBelowConcurrency": 15},
    {"profile": "none"},
]


def spec(**fields: Any) -> SpeculativeServingSpec:
    body = {
        "metadata": {"name": "s"},
        "spec": {
            "targetRef": {"name": "llama"},
            "profiles": [
                {
                    "name": "ngram",
                    "method": "NGram",
                    "numSpeculativeTokens": 3,
                    "promptLookupMax": 4,
                    "promptLookupMin": 2,
                },
                {"name": "none", "method": "Disabled"},
            ],
            **fields,
        },
    }
    return parse_serving(body).spec


def test_what_holds_where_nobody_spoke() -> None:
    settings = settings_of(spec())

    assert settings.mode is Mode.RECOMMEND_ONLY
    assert not settings.suspended
    assert settings.stabilization == Stabilization(
        busier_seconds=defaults.BUSIER_SECONDS, quieter_seconds=defaults.QUIETER_SECONDS
    )
    assert settings.cooldown_seconds == defaults.COOLDOWN_SECONDS
    assert settings.max_switches_per_day == defaults.MAX_SWITCHES_PER_DAY
    assert telemetry_of(spec()) == defaults.TELEMETRY
    assert isinstance(settings.cutoff, Problem)
    assert settings.cutoff.reason is Reason.CUTOFF_NOT_SET
    assert "nobody looked for it: set spec.cutoff.ranges" in settings.cutoff.message


def test_what_a_person_says_wins_though_it_is_nothing() -> None:
    asked = spec(
        mode="Automatic",
        suspend=True,
        cooldownSeconds=0,
        maxSwitchesPerDay=1,
        stabilization={"busierSeconds": 0, "quieterSeconds": 0},
        telemetry="eu",
    )
    settings = settings_of(asked)

    assert (settings.mode, settings.suspended) == (Mode.AUTOMATIC, True)
    assert settings.stabilization == Stabilization(busier_seconds=0.0, quieter_seconds=0.0)
    assert (settings.cooldown_seconds, settings.max_switches_per_day) == (0.0, 1)
    assert telemetry_of(asked) == "eu"


@pytest.mark.parametrize(
    ("stabilization", "busier", "quieter"),
    [
        ({"busierSeconds": 5}, 5.0, defaults.QUIETER_SECONDS),
        ({"quieterSeconds": 5}, defaults.BUSIER_SECONDS, 5.0),
        ({}, defaults.BUSIER_SECONDS, defaults.QUIETER_SECONDS),
    ],
)
def test_one_dwell_leaves_the_other_at_its_default(
    stabilization: dict[str, int], busier: float, quieter: float
) -> None:
    resolved = settings_of(spec(stabilization=stabilization)).stabilization

    assert resolved == Stabilization(busier_seconds=busier, quieter_seconds=quieter)


@pytest.mark.parametrize(
    ("suspend", "frozen", "suspended"),
    [(False, False, False), (True, False, True), (False, True, True), (True, True, True)],
)
def test_the_operators_freeze_suspends_everyone(
    suspend: bool, frozen: bool, suspended: bool
) -> None:
    settings = settings_of(spec(suspend=suspend), frozen=frozen)
    assert (settings.suspended, settings.frozen) == (suspended, frozen)


def test_a_persons_order_is_handed_on() -> None:
    assert settings_of(spec()).forced is None
    assert settings_of(spec(), forced="none").forced == "none"


def test_profiles_keep_every_setting_and_their_order() -> None:
    assert profiles_of(spec()) == (
        Profile(
            name="ngram",
            method=Method.NGRAM,
            num_speculative_tokens=3,
            prompt_lookup_max=4,
            prompt_lookup_min=2,
        ),
        Profile(name="none", method=Method.DISABLED),
    )
    assert settings_of(spec()).methods == {"ngram": Method.NGRAM, "none": Method.DISABLED}


def test_the_cut_off_table() -> None:
    assert settings_of(spec(cutoff={"ranges": RANGES})).cutoff == CutoffTable(
        (
            CutoffRow(profile="ngram", up_to=20.0, return_below=15.0),
            CutoffRow(profile="none"),
        )
    )


@pytest.mark.parametrize(("up_to", "return_below"), [(20, 16), (100, 80), (4, 3), (1, 1)])
def test_a_band_that_nobody_asked_for_is_a_fifth(up_to: int, return_below: int) -> None:
    ranges = [{"profile": "ngram", "upToConcurrency": up_to}, {"profile": "none"}]
    table = settings_of(spec(cutoff={"ranges": ranges})).cutoff

    assert isinstance(table, CutoffTable)
    assert table.rows[0].return_below == float(return_below)
