"""What a field means when nobody sets it: one source for descriptions, docs and `settings`.

The fields that a policy can share have no default in the schema, since a default written by the
API server would hide what the policy says; `settings` puts these values in where nobody spoke.
"""

from typing import Final

from ridgeline.terms.modes import (
    ConflictPolicy,
    InjectionMode,
    Mode,
    Strategy,
    UnverifiedEngine,
)
from ridgeline.terms.rolls import (
    CanaryOtherwise,
    CanaryWhen,
    OnDelete,
    OnNoTraffic,
    RequalifyPolicy,
    TrialPolicy,
)

MODE: Final = Mode.RECOMMEND_ONLY
"""Look first; the schema writes it."""

STRATEGY: Final = Strategy.GOODPUT
"""Where the cut-offs come from when neither ranges nor a preset say that they are fixed."""

INJECTION_MODE: Final = InjectionMode.ENV
"""How a profile reaches the server; the schema writes it where `injection` is given."""

CONFLICT_POLICY: Final = ConflictPolicy.HOLD
"""Nobody's field is taken over unless a person says so; the schema writes it."""

UNVERIFIED_ENGINE: Final = UnverifiedEngine.HOLD
"""Nothing is rolled on a guess of what a release takes; the schema writes it."""

RETURN_BELOW_PERCENT: Final = 80
"""Lower edge of a band in per cent of its cut-off.

A single threshold without a band rolls 14 to 22 times a day in simulation; one fifth is the least
width that the plain band law was simulated with.
"""

BUSIER_SECONDS: Final = 60
"""Dwell before moving to a busier row: being late there costs queues (simulation)."""

QUIETER_SECONDS: Final = 600
"""Dwell before moving to a quieter row: being late there costs some latency only (simulation)."""

COOLDOWN_SECONDS: Final = 1800
"""Time after a roll in which nothing is switched on: about two rolls of a fleet (simulation)."""

MAX_SWITCHES_PER_DAY: Final = 6
"""Switches in 24 hours; the default law stays below four on average (simulation)."""

CANARY_WHEN: Final = CanaryWhen.UNPROVEN
"""What has served with the same Pod template needs no second proof, and a canary takes time."""

CANARY_MAX_REPLICAS: Final = 2
"""More Pods at once would put more than a canary's share of the answers at risk."""

CANARY_OTHERWISE: Final = CanaryOtherwise.HOLD
"""Nothing unproven goes to a whole fleet unless a person says so."""

CANARY_ON_NO_TRAFFIC: Final = OnNoTraffic.RESTORE
"""What could not be judged is not kept."""

CANARY_DEADLINE_SECONDS: Final = 2700
"""A large model takes ten minutes to start, warm-up and three rate windows about ten more; the rest
is for quiet hours."""

TRIAL: Final = TrialPolicy.ALLOWED
"""Whoever sets mode Automatic wants the best profile found; one canary risks little."""

REQUALIFY: Final = RequalifyPolicy.NEVER
"""A canary costs a GPU for a while and slows its share of the answers: a person opts in."""

ROLL_DEADLINE_SECONDS: Final = 7200
"""Eight replicas of a large model, one after the other, take about two hours at the most."""

ON_DELETE: Final = OnDelete.KEEP
"""Deleting a serving restarts no server; the schema writes it."""

TELEMETRY: Final = "default"
"""Name of the telemetry endpoint in the operator's configuration."""


def return_below(up_to_concurrency: int) -> int:
    """Return the lower edge of the band at a cut-off that names none.

    Args:
        up_to_concurrency: The cut-off, in requests in decode per engine; at least 1.

    Returns:
        `RETURN_BELOW_PERCENT` of it, rounded down, at least 1.
    """
    return max(1, up_to_concurrency * RETURN_BELOW_PERCENT // 100)
