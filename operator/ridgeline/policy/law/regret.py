"""Regret: what staying has cost already, against what a roll costs.

    S ← max(0, S + (L_running − 1.05·L_other)·dt)          move when S ≥ 0.5·cost of the roll

with L the requests in the fleet that each profile's curve predicts for the demand (so both sides
come from the same source), and `other` the profile with the least. The 5 % are the price of being
wrong about a tie; with half the cost spent before a move, no sequence of loads can make the law
lose more than a fixed multiple of the best choice in hindsight.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ridgeline.policy.law.settings import LawSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """What staying has cost.

    Attributes:
        request_seconds: S.
        towards: The profile that would have been best; `None` when the running one is.
    """

    request_seconds: float
    towards: str | None


def with_regret(
    before: float,
    *,
    running: str,
    requests: Mapping[str, float],
    seconds: float,
    settings: LawSettings,
) -> Regret:
    """Return the regret after `seconds` more.

    Args:
        before: S until now.
        running: Running profile.
        requests: L of every profile that may be moved to, and of the running one.
        seconds: Time since the look before.
        settings: The constants.
    """
    others = {profile: value for profile, value in requests.items() if profile != running}
    best = min(others, key=lambda profile: (others[profile], profile), default=None)
    if best is None:
        return Regret(request_seconds=0.0, towards=None)
    rate = requests[running] - settings.regret_margin * others[best]
    total = max(0.0, before + rate * max(0.0, seconds))
    if not math.isfinite(total):
        return Regret(request_seconds=0.0, towards=None)
    return Regret(request_seconds=total, towards=best if total > 0 and rate > 0 else None)
