"""What follows from a fresh comparison with no speculation (`requalify` says when it is made).

A Pod without speculation was measured beside the replicas of the active profile. Its verdict, told
by the reason with which its roll is taken back, is one on the profile:

    the Pod is slower     the profile is Verified on this ground, and stays
    alike                 nothing could be told of it (Unclear), and it stays
    the Pod is faster     the profile is Worse: it is quarantined, and the fleet moves to none
    other answers         likewise: without speculation the model's own answers are given
    not judged, no start  nothing could be told; the profile stays, and nothing is tried again

The profile without speculation itself is never blamed: it must stay free to be switched to.
"""

from dataclasses import replace
from typing import Final

from ridgeline.policy.canary.judge import LEAST_PERCENT, Judgement
from ridgeline.policy.facts import Problem
from ridgeline.policy.memory import Crossing, SlowMemory
from ridgeline.policy.move import Move
from ridgeline.policy.move_checks import MOVE_CHECKS
from ridgeline.policy.proof import Proof, with_proof
from ridgeline.policy.quarantine import Quarantined, binding, quarantined
from ridgeline.policy.requalify import plain_profile
from ridgeline.policy.roll import Roll
from ridgeline.policy.roll_steps import Found
from ridgeline.policy.situation import Situation
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import ProofResult

_BY_A_PERSON: Final = frozenset(
    {
        Reason.FORCED,
        Reason.FROZEN,
        Reason.RECOMMEND_ONLY,
        Reason.SPEC_CHANGED,
        Reason.SUSPENDED,
        Reason.TEMPLATE_CHANGED,
    }
)
"""Reasons that end a comparison and say nothing of it: it is made another time."""

LEAVE_CHECKS: Final = tuple(each for each in MOVE_CHECKS if each[0] != "verdict")
"""The checks of a move away from what was measured to be worse: no prediction is asked."""


def concluded(
    slow: SlowMemory,
    roll: Roll,
    why: Problem,
    judgement: Judgement | None,
    *,
    profile_config: str,
    basis: str,
    now: float,
) -> SlowMemory:
    """Return memory with what a comparison has shown of both profiles.

    Args:
        slow: What is remembered.
        roll: The comparison, which is taken back.
        why: Why: its verdict, or what ended it before.
        judgement: The numbers behind the verdict, `None` where there are none.
        profile_config: Fingerprint of the config of the profile that was compared.
        basis: Fingerprint of what predictions rest on.
        now: Epoch seconds.
    """
    if why.reason in _BY_A_PERSON:
        return slow
    judged = why.reason in (Reason.REQUALIFIED, Reason.WORSE_THAN_NONE)
    numbers = judgement if judged else None
    plain = Proof(
        profile=roll.to_profile,
        result=ProofResult.TRIED if judged else ProofResult.UNCLEAR,
        at=now,
        config=roll.config,
        template=roll.template,
        basis=basis,
        gain_percent=numbers.gain_percent if numbers else None,
    )
    proofs = with_proof(slow.proofs, plain)
    if not judged or roll.from_profile is None:
        return replace(slow, proofs=proofs)
    shown = replace(
        plain,
        profile=roll.from_profile,
        config=profile_config,
        result=_result(why, numbers),
        gain_percent=_turned(plain.gain_percent),
        promised_percent=_turned(numbers.promised_percent if numbers else None),
    )
    slow = replace(slow, proofs=with_proof(proofs, shown))
    if why.reason is not Reason.WORSE_THAN_NONE:
        return slow
    entries = quarantined(
        slow.quarantine,
        roll.from_profile,
        reason=why.reason,
        message=why.message,
        config=profile_config,
        template=roll.template,
        now=now,
    )
    return replace(slow, quarantine=entries)


def _result(why: Problem, judgement: Judgement | None) -> ProofResult:
    if why.reason is Reason.WORSE_THAN_NONE:
        return ProofResult.WORSE
    slower = judgement is not None and judgement.found is Found.WORSE
    return ProofResult.VERIFIED if slower else ProofResult.UNCLEAR


def _turned(percent: int | None) -> int | None:
    """Return the gain of one side over the other from that of the other over the one.

    With r the other's time per token ÷ the one's, these are 1 − 1 ÷ r and 1 − r.
    """
    if percent is None:
        return None
    ratio = max(1e-3, 1.0 - percent / 100.0)
    return max(LEAST_PERCENT, round(100.0 * (1.0 - 1.0 / ratio)))


def found_worse(situation: Situation) -> Quarantined | None:
    """Return why the active profile is left, measured beside no speculation; `None` if it is not.

    It stands as long as the quarantine binds: another image, an edit of the profile or an order
    ends it.
    """
    target, active = situation.target, situation.active
    if target is None or active is None:
        return None
    config = situation.settings.configs.get(active, "")
    for each in binding(situation.memory.slow.quarantine, situation.now):
        same = (each.profile, each.config, each.template) == (active, config, target.template)
        if same and each.reason is Reason.WORSE_THAN_NONE:
            return each
    return None


def move_away(situation: Situation) -> Move | None:
    """Return the move from a profile that is worse than none, `None` when there is none to make."""
    entry, other = found_worse(situation), plain_profile(situation.settings)
    if entry is None or other is None:
        return None
    crossing = situation.memory.fast.crossing
    since = crossing.since if crossing is not None and crossing.towards == other else None
    return Move(
        situation=situation,
        profile=other,
        busier=True,
        because=f"{entry.profile} was measured to be worse than {other} here: {entry.message}",
        crossing=Crossing(towards=other, since=situation.now if since is None else since),
        seen_before=since is not None,
        lasted=0.0 if since is None else max(0.0, situation.now - since),
        dwell=situation.settings.stabilization.busier_seconds,
        reason=Reason.WORSE_THAN_NONE,
    )
