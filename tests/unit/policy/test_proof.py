"""What a profile has shown holds for one config on one Pod template."""

from dataclasses import replace

import pytest

from ridgeline.policy.proof import (
    MAX_PROOFS,
    Proof,
    Proofs,
    basis_of,
    is_proven,
    proof_of,
    stale_proof,
    with_proof,
)
from ridgeline.policy.settings import Prediction
from ridgeline.terms.rolls import ProofResult
from tests.unit.policy.moments import settings

SHOWN = Proof(profile="eagle2", result=ProofResult.VERIFIED, at=1000.0, config="c1", template="t1")
OTHER = replace(SHOWN, profile="ngram", config="n1")


@pytest.mark.parametrize("result", list(ProofResult))
def test_all_that_served_is_proven_and_what_made_the_fleet_slower_is_not(
    result: ProofResult,
) -> None:
    proofs = (replace(SHOWN, result=result),)
    assert is_proven(proofs, "eagle2", "c1", "t1") is (result is not ProofResult.WORSE)


@pytest.mark.parametrize(
    ("profile", "config", "template"),
    [("ngram", "c1", "t1"), ("eagle2", "c2", "t1"), ("eagle2", "c1", "t2")],
    ids=["another profile", "an edited profile", "another image or argument"],
)
def test_a_proof_tells_nothing_of_what_is_not_the_same(
    profile: str, config: str, template: str
) -> None:
    assert proof_of((SHOWN,), "eagle2", "c1", "t1") == SHOWN
    assert proof_of((SHOWN,), profile, config, template) is None
    assert not is_proven((SHOWN,), profile, config, template)


def test_what_was_shown_before_a_change_is_stale_and_not_gone() -> None:
    proofs = (OTHER, SHOWN)
    assert stale_proof(proofs, "eagle2", "c1", "t2") == SHOWN
    assert stale_proof(proofs, "eagle2", "c2", "t1") == SHOWN
    assert stale_proof(proofs, "eagle2", "c1", "t1") is None
    assert stale_proof(proofs, "mtp", "c1", "t1") is None


def test_another_gpu_makes_stale_what_was_shown_with_the_same_template() -> None:
    here = replace(SHOWN, basis="b1")
    assert proof_of((here,), "eagle2", "c1", "t1", "b1") == here
    assert proof_of((here,), "eagle2", "c1", "t1", "b2") is None
    assert stale_proof((here,), "eagle2", "c1", "t1", "b2") == here
    assert not is_proven((here,), "eagle2", "c1", "t1", "b2")


@pytest.mark.parametrize(("then", "now"), [("", "b1"), ("b1", ""), ("", "")])
def test_a_basis_that_is_not_known_is_no_other(then: str, now: str) -> None:
    assert is_proven((replace(SHOWN, basis=then),), "eagle2", "c1", "t1", now)
    assert stale_proof((replace(SHOWN, basis=then),), "eagle2", "c1", "t1", now) is None


def test_the_basis_is_that_of_the_prediction() -> None:
    assert basis_of(settings()) == ""
    one, other = (
        basis_of(settings(prediction=Prediction(basis=each))) for each in ("one", "other")
    )
    assert one
    assert one != other


def test_the_newest_of_a_profile_replaces_the_one_before() -> None:
    again = replace(SHOWN, result=ProofResult.WORSE, at=2000.0)
    proofs = with_proof(with_proof(with_proof((), SHOWN), OTHER), again)
    assert proofs == (OTHER, again)
    elsewhere = replace(SHOWN, template="t2")
    assert with_proof((SHOWN, OTHER), elsewhere) == (OTHER, elsewhere)


def test_only_the_newest_are_kept() -> None:
    proofs: Proofs = ()
    for number in range(MAX_PROOFS + 2):
        proofs = with_proof(proofs, replace(SHOWN, profile=f"p{number}"))
    assert [each.profile for each in proofs] == [f"p{n}" for n in range(2, MAX_PROOFS + 2)]
