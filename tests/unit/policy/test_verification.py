"""What a fleet shows after its roll, and what follows from it."""

from dataclasses import replace

import pytest

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.canary.evidence import Evidence, Group
from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.policy.roll import Roll
from ridgeline.policy.roll_settings import RollSettings
from ridgeline.policy.roll_steps import Asked, Step, Watched, next_step
from ridgeline.policy.verification import PATIENCE_WINDOWS, WINDOWS, Verification, verified
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import (
    CanaryOtherwise,
    CanaryWhen,
    OnNoTraffic,
    ProofResult,
    RollState,
    TrialPolicy,
)

NONE = Curve(profile="none", concurrency=(10.0, 100.0), tokens_per_second=(100.0, 1000.0))
"""Ten requests take 100 ms per token, and so do a hundred."""


def fleet(
    seconds_per_token: float, *, windows: int = WINDOWS, tokens: float = 50_000.0
) -> Evidence:
    group = Group(
        request_seconds=seconds_per_token * tokens,
        tokens=tokens,
        engine_seconds=seconds_per_token * tokens / 10.0,
        replicas=4,
    )
    return Evidence(started_at=0.0, windows=windows, new=group)


def after(
    seconds_per_token: float, *, promised: int = 30, seen: bool = True, waited: float = 10.0
) -> Verification | None:
    return verified(
        fleet(seconds_per_token),
        NONE,
        before_was_seen=seen,
        promised_percent=promised,
        waited_windows=waited,
    )


@pytest.mark.parametrize(
    ("seconds", "result", "gain"),
    [
        (0.070, ProofResult.VERIFIED, 30),
        # Less than was promised, and still a gain: the curves have learned it.
        (0.095, ProofResult.VERIFIED, 5),
        # Within what two starts of one config differ (5 % over four), and promised little less.
        (0.102, ProofResult.WORSE, -2),
        (0.110, ProofResult.WORSE, -10),
    ],
)
def test_what_the_fleet_gains(seconds: float, result: ProofResult, gain: int) -> None:
    found = after(seconds)
    assert found is not None
    assert (found.result, found.gain_percent) == (result, gain)


def test_a_small_loss_is_no_reason_to_leave_where_little_was_promised() -> None:
    found = after(0.102, promised=5)
    assert found is not None
    assert found.result is ProofResult.VERIFIED


def test_a_loss_against_a_profile_that_nobody_saw_here_is_no_reason_to_leave() -> None:
    found = after(0.150, seen=False)
    assert found is not None
    assert found.result is ProofResult.VERIFIED


@pytest.mark.parametrize("evidence", [fleet(0.1, windows=WINDOWS - 1), fleet(0.1, tokens=100.0)])
def test_too_little_is_waited_for_and_then_called_unclear(evidence: Evidence) -> None:
    def asked(waited: float) -> Verification | None:
        return verified(
            evidence, NONE, before_was_seen=True, promised_percent=30, waited_windows=waited
        )

    assert asked(PATIENCE_WINDOWS - 1.0) is None
    found = asked(PATIENCE_WINDOWS)
    assert found is not None
    assert (found.result, found.gain_percent) == (ProofResult.UNCLEAR, None)


ROLL = Roll(
    from_profile="none",
    to_profile="eagle2",
    started_at=0.0,
    finished_at=100.0,
    state=RollState.FINISHED,
    target_uid="uid-1",
    target_generation=1,
    serving_generation=1,
    template="aaaa",
)
TARGET = TargetFacts(
    uid="uid-1",
    desired_replicas=4,
    active_profile="eagle2",
    active_config="{}",
    rollout=None,
    template="aaaa",
)
SETTINGS = RollSettings(
    canary_when=CanaryWhen.UNPROVEN,
    canary_max_replicas=2,
    canary_otherwise=CanaryOtherwise.HOLD,
    on_no_traffic=OnNoTraffic.RESTORE,
    canary_deadline_seconds=600.0,
    trial=TrialPolicy.ALLOWED,
    deadline_seconds=3600.0,
)
WORSE = Watched(worse=Problem(reason=Reason.WORSE_THAN_PROMISED, message="10 % more time"))


def test_a_worse_profile_is_left_and_not_chosen_for_a_while() -> None:
    step = next_step(ROLL, TARGET, WORSE, Asked(), SETTINGS, 200.0)
    assert step is not None
    assert (step.step, step.quarantines) == (Step.UNDO, True)


@pytest.mark.parametrize(
    ("target", "asked"),
    [
        (replace(TARGET, active_profile="none"), Asked()),
        (replace(TARGET, template="bbbb"), Asked()),
        (TARGET, Asked(idle=True)),
        (TARGET, Asked(forced="eagle2")),
        (TARGET, Asked(withdrawn=Problem(reason=Reason.RECOMMEND_ONLY, message="mode"))),
    ],
)
def test_a_worse_profile_stays_where_it_is_not_ours_to_leave(
    target: TargetFacts, asked: Asked
) -> None:
    assert next_step(ROLL, target, WORSE, asked, SETTINGS, 200.0) is None
