"""What each release of the engine can do by load."""

import json

import pytest

from ridgeline.costmodel.lookahead import Tier
from ridgeline.engine.contract import contract_of
from ridgeline.engine.speculative_config import Profile
from ridgeline.settings.advise_schedule import InEngine, in_engine
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.terms.methods import Method

EAGLE = Profile(name="eagle", method=Method.EAGLE3, model="org/head", num_speculative_tokens=5)
TIERS = (
    Tier(first=1, last=16, lookahead=4),
    Tier(first=17, last=64, lookahead=2),
    Tier(first=65, last=512, lookahead=0),
)


def ask(
    version: str,
    profile: Profile = EAGLE,
    tiers: tuple[Tier, ...] = TIERS,
    cutoff: float | None = 58.6,
    engines: int = 1,
) -> InEngine:
    contract = contract_of(load_engine_contracts(), version)
    return in_engine(profile, tiers, contract, cutoff=cutoff, engines=engines)


def config(found: InEngine) -> dict[str, object]:
    assert found.config is not None, found.why
    told = json.loads(found.config)
    assert isinstance(told, dict)
    return told


def test_a_release_with_the_table_gets_it_with_the_highest_lookahead_as_the_profiles() -> None:
    found = ask("0.24.0")
    assert config(found) == {
        "method": "eagle3",
        "model": "org/head",
        "num_speculative_tokens": 4,
        "num_speculative_tokens_per_batch_size": [[1, 16, 4], [17, 64, 2], [65, 512, 0]],
    }
    assert found.rows == TIERS
    assert "keeps the drafter loaded" in found.why


def test_a_lookahead_that_rises_again_stays_at_the_lower_one() -> None:
    rising = (
        Tier(first=1, last=8, lookahead=3),
        Tier(first=9, last=60, lookahead=1),
        Tier(first=61, last=90, lookahead=2),
        Tier(first=91, last=256, lookahead=1),
    )
    found = ask("0.24.0", tiers=rising)
    assert [(each.first, each.last, each.lookahead) for each in found.rows] == [
        (1, 8, 3),
        (9, 256, 1),
    ]


def test_where_one_lookahead_is_best_throughout_there_is_nothing_to_schedule() -> None:
    found = ask("0.24.0", tiers=(Tier(first=1, last=256, lookahead=3),))
    assert found.config is None
    assert "(3)" in found.why


@pytest.mark.parametrize("version", ["0.8.5", "0.9.2"])
def test_old_releases_get_the_switch_at_the_cut_off(version: str) -> None:
    found = ask(version)
    told = config(found)
    assert told["disable_by_batch_size"] == 58
    assert told["num_speculative_tokens"] == 5
    assert "58 queued requests" in found.why


def test_without_a_cut_off_the_switch_has_nothing_to_say() -> None:
    for cutoff in (None, 1.5):
        assert ask("0.9.2", cutoff=cutoff).config is None


def test_releases_between_the_two_have_neither_and_say_what_the_switch_does_there() -> None:
    ignoring, refusing = ask("0.11.0"), ask("0.20.0")
    assert ignoring.config is None
    assert "ignores it" in ignoring.why
    assert refusing.config is None
    assert "ignores it" not in refusing.why
    assert "0.24" in refusing.why


def test_several_engines_of_one_server_get_no_table() -> None:
    found = ask("0.24.0", engines=2)
    assert found.config is None
    assert "several engines" in found.why


def test_a_method_that_the_release_does_not_schedule_gets_no_table() -> None:
    contract = contract_of(load_engine_contracts(), "0.24.0")
    suffix = Profile(name="suffix", method=Method.SUFFIX, num_speculative_tokens=4)
    assert "suffix" not in contract.schedule_methods
    found = ask("0.24.0", profile=suffix)
    assert found.config is None
    assert "eagle3" in found.why


def test_nothing_is_scheduled_where_nothing_is_drafted() -> None:
    found = ask("0.24.0", profile=Profile(name="none", method=Method.DISABLED))
    assert found.config is None
