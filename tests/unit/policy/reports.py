"""Reports of many shapes: everything that a status document can be made of."""

from dataclasses import dataclass, replace
from typing import Any, Final

from ridgeline.policy.decide import decide
from ridgeline.policy.facts import Facts, Problem, RolloutFacts, TargetFacts
from ridgeline.policy.memory import Memory, Switch
from ridgeline.policy.roll import Roll
from ridgeline.policy.situation import observe
from ridgeline.policy.status import Report
from ridgeline.terms.reasons import Reason
from ridgeline.terms.rolls import RollState
from tests.unit.policy.moments import NOW, endpoint, facts, memory, settings, switch


@dataclass(frozen=True)
class Shape:
    """A report and what it is an example of."""

    name: str
    report: Report


def report(
    seen: Facts | None = None,
    *,
    remembered: Memory | None = None,
    now: float = NOW,
    problem: Problem | None = None,
    roll: Roll | None = None,
    generation: int = 3,
    **changed: Any,
) -> Report:
    """What a pass would report of these facts; `changed` goes into the settings."""
    seen = facts() if seen is None else seen
    remembered = memory() if remembered is None else remembered
    resolved = settings(**changed)
    decision = decide(seen, resolved, remembered, now)
    target = seen.target if isinstance(seen.target, TargetFacts) else None
    return Report(
        generation=generation,
        now=now,
        situation=observe(seen, resolved, remembered, now),
        decision=decision,
        problem=problem,
        roll=roll,
        memory=remembered.slow,
        target_uid=target.uid if target else None,
        container="vllm" if target else None,
    )


def roll(state: RollState = RollState.ROLLING, **other: Any) -> Roll:
    """A roll from eagle2 to none that was announced 100 seconds ago."""
    ended = state not in (RollState.INTENDED, RollState.ROLLING)
    usual = Roll(
        from_profile="eagle2",
        to_profile="none",
        started_at=NOW - 100.0,
        stage_at=NOW - 90.0,
        finished_at=NOW - 10.0 if ended else None,
        state=state,
        target_uid="uid-1",
        target_generation=1,
        serving_generation=3,
    )
    return replace(usual, **other)


def under_way(updated: int = 1, **other: Any) -> RolloutFacts:
    """A rolling update of four replicas."""
    return RolloutFacts(updated=updated, available=4, desired=4, **other)


INVALID: Final = Report(
    generation=4,
    now=NOW,
    situation=None,
    decision=None,
    problem=Problem(reason=Reason.SPEC_INVALID, message="spec.profiles: it is empty"),
    roll=None,
    memory=memory().slow,
)

_TEN: Final = [
    Switch(
        started_at=NOW - 90_000.0 * (10 - index),
        finished_at=NOW - 90_000.0 * (10 - index) + 60.0,
        from_profile=None if index == 0 else "eagle2",
        to_profile="none",
        reason=Reason.ABOVE_CUTOFF,
    )
    for index in range(10)
]

REPORTS: Final = (
    Shape("all is well", report()),
    Shape("nothing is remembered and nothing serves", report(facts(replicas=(), desired=0))),
    Shape("the spec cannot be read", INVALID),
    Shape(
        "there is no target",
        report(facts(target=Problem(reason=Reason.TARGET_NOT_FOUND, message="no Deployment x"))),
    ),
    Shape("Prometheus is down", report(facts(telemetry=endpoint(error="connection refused")))),
    Shape("suspended", report(suspended=True)),
    Shape("no profile describes the target", report(facts(active=None))),
    Shape(
        "no cut-off",
        report(cutoff=Problem(reason=Reason.ACCELERATOR_UNKNOWN, message="set it")),
    ),
    Shape(
        "announced",
        report(facts(30.0), remembered=memory(switch(None)), roll=roll(RollState.INTENDED)),
    ),
    Shape(
        "rolling",
        report(
            facts(30.0, active="none", rollout=under_way()),
            remembered=memory(switch(None)),
            roll=roll(),
        ),
    ),
    Shape(
        "rolling and stuck",
        report(
            facts(30.0, active="none", rollout=under_way(deadline_exceeded=True)),
            remembered=memory(switch(None)),
            roll=roll(),
        ),
    ),
    Shape(
        "finished",
        report(
            facts(30.0, active="none"),
            remembered=memory(switch(10.0)),
            roll=roll(RollState.FINISHED),
        ),
    ),
    Shape("abandoned", report(facts(30.0), roll=roll(RollState.ABANDONED, from_profile=None))),
    Shape(
        "undone",
        report(
            remembered=memory(switch(10.0)),
            roll=roll(RollState.UNDONE),
            problem=Problem(reason=Reason.UNDONE_BY_OTHERS, message="joe took it out"),
        ),
    ),
    Shape("a long history", report(remembered=memory(*_TEN))),
    Shape(
        "a message without end",
        report(problem=Problem(reason=Reason.WRITE_REFUSED, message="é" * 40_000)),
    ),
)
