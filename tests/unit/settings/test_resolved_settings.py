"""A serving's spec as the pure rooms' values."""

from typing import Any

import pytest

from ridgeline.api import defaults
from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.settings.inherit import ResolvedSpec, resolve_spec
from ridgeline.settings.resolve import profiles_of, telemetry_of
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode
from tests.unit.settings.asked import NOT_ASKED, serving, settled

PROFILES = [
    {
        "name": "ngram",
        "method": "NGram",
        "numSpeculativeTokens": 3,
        "promptLookupMax": 4,
        "promptLookupMin": 2,
    },
    {"name": "none", "method": "Disabled"},
]
RANGES = [
    {"profile": "ngram", "upToConcurrency": 20, "returnBelowConcurrency": 15},
    {"profile": "none"},
]


def resolved(**fields: Any) -> ResolvedSpec:
    return resolve_spec(serving(**{"profiles": PROFILES, **fields}), None)


def settings(**fields: Any) -> PolicySettings:
    return settled(resolved(**fields))


def test_what_holds_where_nobody_spoke() -> None:
    found = settings()

    assert found.mode is Mode.RECOMMEND_ONLY
    assert not found.suspended
    assert found.stabilization == Stabilization(
        busier_seconds=defaults.BUSIER_SECONDS, quieter_seconds=defaults.QUIETER_SECONDS
    )
    assert found.cooldown_seconds == defaults.COOLDOWN_SECONDS
    assert found.max_switches_per_day == defaults.MAX_SWITCHES_PER_DAY
    assert telemetry_of(resolved()) == defaults.TELEMETRY
    assert found.cutoff == NOT_ASKED.cutoff


def test_what_a_person_says_wins_though_it_is_nothing() -> None:
    asked: dict[str, Any] = {
        "mode": "Automatic",
        "suspend": True,
        "cooldownSeconds": 0,
        "maxSwitchesPerDay": 1,
        "stabilization": {"busierSeconds": 0, "quieterSeconds": 0},
        "telemetry": "eu",
    }
    found = settings(**asked)

    assert (found.mode, found.suspended) == (Mode.AUTOMATIC, True)
    assert found.stabilization == Stabilization(busier_seconds=0.0, quieter_seconds=0.0)
    assert (found.cooldown_seconds, found.max_switches_per_day) == (0.0, 1)
    assert telemetry_of(resolved(**asked)) == "eu"


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
    found = settings(stabilization=stabilization).stabilization

    assert found == Stabilization(busier_seconds=busier, quieter_seconds=quieter)


def test_profiles_keep_every_setting_and_their_order() -> None:
    assert profiles_of(resolved().own) == (
        Profile(
            name="ngram",
            method=Method.NGRAM,
            num_speculative_tokens=3,
            prompt_lookup_max=4,
            prompt_lookup_min=2,
        ),
        Profile(name="none", method=Method.DISABLED),
    )
    assert settings().methods == {"ngram": Method.NGRAM, "none": Method.DISABLED}


def test_the_cut_off_table() -> None:
    assert settings(cutoff={"ranges": RANGES}).cutoff == CutoffTable(
        (
            CutoffRow(profile="ngram", up_to=20.0, return_below=15.0),
            CutoffRow(profile="none"),
        )
    )


@pytest.mark.parametrize(("up_to", "return_below"), [(20, 16), (100, 80), (4, 3), (1, 1)])
def test_a_band_that_nobody_asked_for_is_a_fifth(up_to: int, return_below: int) -> None:
    ranges = [{"profile": "ngram", "upToConcurrency": up_to}, {"profile": "none"}]
    table = settings(cutoff={"ranges": ranges}).cutoff

    assert isinstance(table, CutoffTable)
    assert table.rows[0].return_below == float(return_below)
