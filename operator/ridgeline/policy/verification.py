"""After a roll: whether the whole fleet does on its new profile what was promised.

Over some windows after the roll, the fleet's time per token T is held against that of the profile
before at the same concurrency, as its curve tells it (corrected by what was measured while it ran):

    gain = 1 − T ÷ T_before(B)        margin = 10 % ÷ √replicas (starts of one config differ so)

A profile is left when it is worse than what it replaced (gain < −margin), or when it gains nothing
and stays below the promise by more than the prediction's error; both only when the profile before
was really seen here. What gains less than promised is kept: the curves have learned it by then.
"""

import math
from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.canary.evidence import Evidence
from ridgeline.policy.canary.judge import BOOT_SPREAD, LEAST_TOKENS, PREDICTION_ERROR
from ridgeline.policy.facts import Problem
from ridgeline.policy.wording import number
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import ProofResult

WINDOWS: Final = 5
"""Windows that a verdict rests on."""

PATIENCE_WINDOWS: Final = 60.0
"""Windows after the roll until which enough must have been seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What came out of it.

    Attributes:
        result: Verified, Worse or Unclear.
        gain_percent: Measured gain, `None` where nothing could be measured.
        why: The same for a person.
    """

    result: ProofResult
    gain_percent: int | None
    why: Problem


def verified(
    evidence: Evidence,
    before: Curve | None,
    *,
    before_was_seen: bool,
    promised_percent: int | None,
    waited_windows: float,
) -> Verification | None:
    """Return the verdict on a fleet after its roll, `None` while there is none.

    Args:
        evidence: What the fleet did since the roll ended; its `new` side.
        before: Curve of the profile before.
        before_was_seen: Whether that profile's own step times were seen here.
        promised_percent: Gain that was promised when the roll was decided.
        waited_windows: Rate windows since the roll ended.
    """
    fleet = evidence.new
    speed = fleet.seconds_per_token
    if before is None or speed is None or evidence.windows < WINDOWS or fleet.tokens < LEAST_TOKENS:
        if waited_windows < PATIENCE_WINDOWS:
            return None
        told = "too little was asked of the fleet to tell what the profile gains"
        return _verdict(ProofResult.UNCLEAR, None, told)
    gain = 1.0 - speed / before.seconds_per_token_at(fleet.concurrency)
    margin = BOOT_SPREAD / math.sqrt(max(1, fleet.replicas))
    promise = (promised_percent or 0) / 100.0
    told = (
        f"the fleet takes {number(abs(100 * gain))} % {'less' if gain >= 0 else 'more'} time per "
        f"token than without the change (± {number(100 * margin)} %; "
        f"{number(100 * promise)} % less was promised)"
    )
    falls_short = gain <= 0.0 and gain < promise - math.hypot(PREDICTION_ERROR, margin)
    if before_was_seen and (gain < -margin or falls_short):
        return _verdict(ProofResult.WORSE, gain, told)
    return _verdict(ProofResult.VERIFIED, gain, told)


def _verdict(result: ProofResult, gain: float | None, told: str) -> Verification:
    return Verification(
        result=result,
        gain_percent=None if gain is None else max(-1000, round(100 * gain)),
        why=Problem(reason=Reason.WORSE_THAN_PROMISED, message=told),
    )
