"""The law's constants, and what a person asked for.

Every default is that of the simulation behind the law (four replicas rolled one at a time, a roll
of about 14 minutes, scrapes every 15 s with noise), where nothing else is said.
"""

import math
from dataclasses import dataclass, field, fields

from ridgeline.policy.law.terms import Preference


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What a person wants of the choice.

    Attributes:
        tpot_limit_seconds: P99 of the time per output token that must hold; `None` for none.
        tails: P99 ÷ mean of the time per output token, by profile; 1 where it is not given.
        prefer: What comes next.
    """

    tpot_limit_seconds: float | None = None
    tails: tuple[tuple[str, float], ...] = ()
    prefer: Preference = Preference.LATENCY

    def __post_init__(self) -> None:
        """Refuse a limit that could never be compared with a time."""
        limit = self.tpot_limit_seconds
        if limit is not None and not (math.isfinite(limit) and limit > 0):
            raise ValueError(f"tpot_limit_seconds is {limit}: give a positive number of seconds")
        for profile, tail in self.tails:
            if not (math.isfinite(tail) and tail >= 1):
                raise ValueError(f"tail of {profile} is {tail}: P99 ÷ mean is 1 or more")

    def tail(self, profile: str) -> float:
        """Return P99 ÷ mean of the time per output token on a profile."""
        return dict(self.tails).get(profile, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LawSettings:
    """Constants of the law; seconds, shares, or as named.

    Attributes:
        window_seconds: Time constant of the smoothed signals.
        gap_seconds: A longer time between two looks is a gap: signals and timers start afresh.
        high_slot_seconds: The recent maximum of demand is that of six slots as long as this.
        busier_dwell_seconds: How long any sign must last before leaving for a busier profile.
        quieter_dwell_seconds: How long all signs must last before leaving for a quieter one.
        escape_seconds: How long saturation must last in regret mode without the queue being worked
            off, without surge: as long as most bursts, for which a roll that takes capacity away
            comes too late.
        escape_seconds_surge: The same with surge.
        off_share: D_off as a share of the lower edge of D*, without surge.
        off_share_surge: The same with surge.
        on_share: D_on as a share of D_off.
        gate: Peak ÷ D* above which a border is insured, without surge.
        gate_surge: The same with surge.
        gate_return: How far the peak must fall below the gate before insurance ends.
        regret_margin: What the other profile's requests are multiplied with.
        regret_share: Share of a roll's cost that staying must have cost.
        insured_cooldown_seconds: Time after a roll without switching on, at insured borders.
        regret_cooldown_seconds: The same at the others.
        settle_seconds: Least time after a roll in which nothing is decided.
        settle_most_seconds: Most time, while servers are still saturated.
        detector_seconds: Opposite decisions closer than this are looked at; a lock lasts as long.
        alike: Two loads are the same when the smaller is at least this share of the larger.
        recovery_seconds: Time constant with which learned limits are forgotten.
        ratchet_step: One saturation lowers D_off at most to this share.
        ratchet_floor: All of them together at most to this share.
        safe_share: Share of a roll's least capacity that counts as safe (D_safe): demand goes on
            rising while a roll is prepared and while it lasts.
        voluntary_share: Share of a roll's least capacity that demand may reach for switching on.
        off_roll_share: The same for switching off.
        patience_seconds: Signs that last so long are no burst: near the cut-off the roll is begun
            all the same.
        worth_share: A saturated fleet is rolled at once when the busier profile's capacity is at
            least this multiple.
        cold_seconds: Latency that a roll costs beyond its lost capacity (drains, cold prefix
            caches), as time that all requests in flight are held up. A guess, kept small.
        start_seconds: How long a replica takes to start, until one was seen.
        waiting_per_engine: Requests waiting for capacity, per engine, that mean saturation.
        queued_per_engine: The same for the mean queue, where waiting for capacity is not told.
        preemptions_per_engine: Preemptions per second and engine that mean saturation.
    """

    window_seconds: float = 120.0
    gap_seconds: float = 90.0
    high_slot_seconds: float = 60.0
    busier_dwell_seconds: float = 60.0
    quieter_dwell_seconds: float = 600.0
    escape_seconds: float = 480.0
    escape_seconds_surge: float = 120.0
    off_share: float = 0.85
    off_share_surge: float = 0.9
    on_share: float = 0.9
    gate: float = 1.05
    gate_surge: float = 1.2
    gate_return: float = 0.05
    regret_margin: float = 1.05
    regret_share: float = 0.5
    insured_cooldown_seconds: float = 1800.0
    regret_cooldown_seconds: float = 900.0
    settle_seconds: float = 120.0
    settle_most_seconds: float = 600.0
    detector_seconds: float = 21_600.0
    alike: float = 0.85
    recovery_seconds: float = 45 * 86_400.0
    ratchet_step: float = 0.85
    ratchet_floor: float = 0.5
    safe_share: float = 0.9
    voluntary_share: float = 0.9
    off_roll_share: float = 0.95
    patience_seconds: float = 600.0
    worth_share: float = 1.1
    cold_seconds: float = 60.0
    start_seconds: float = 210.0
    waiting_per_engine: float = 0.1
    queued_per_engine: float = 1.0
    preemptions_per_engine: float = 1.0 / 60.0
    objective: Objective = field(default_factory=Objective)

    def __post_init__(self) -> None:
        """Refuse a constant that could never be compared with anything."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, float | int) and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{each.name} is {value}: give a finite number, 0 or more")
        if not self.on_share < 1.0:
            raise ValueError(f"on_share is {self.on_share}: D_on must lie below D_off")
        spans = (self.window_seconds, self.high_slot_seconds, self.recovery_seconds)
        if not min(spans) > 0:
            raise ValueError("window_seconds, high_slot_seconds, recovery_seconds must be above 0")
