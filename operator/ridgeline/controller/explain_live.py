"""The operator's own answer, read back: what `explain` shows of it, and when it counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.cluster.objects import ServingObject
from ridgeline.controller.explain_fact import Fact

SILENT_TICKS: Final = 4.0
"""A pass that is older than so many ticks, and than `LEAST_SILENCE_SECONDS`, is the last one."""

LEAST_SILENCE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """An answer of an operator about one serving; ages are as of its pass.

    Attributes:
        instance: Name of the process.
        leader: Whether it holds the Lease.
        age_seconds: How long ago its pass was.
        tick_seconds: How often it makes one.
        generation: Generation of the serving that it knows.
        watch_heard_seconds_ago: When its most silent watch stream last brought anything.
        decision: The decision, as `explain_decision` writes it.
        lines: The same for a person.
        concurrency: Requests in decode per engine, `None` where it was not known.
        facts: What the pass knew.
        remembered: What it remembers.
        settings: Field, value and source.
        basis: What the cut-offs rest on.
        table: The cut-off table.
    """

    instance: str
    leader: bool
    age_seconds: float
    tick_seconds: float
    generation: int
    watch_heard_seconds_ago: float | None
    decision: Mapping[str, Any]
    lines: tuple[str, ...]
    concurrency: float | None
    facts: tuple[Fact, ...]
    remembered: tuple[Fact, ...]
    settings: tuple[tuple[str, str, str], ...]
    basis: tuple[tuple[str, str], ...]
    table: tuple[dict[str, Any], ...]

    @property
    def silent(self) -> bool:
        """Whether it makes no passes over the serving any more."""
        return self.age_seconds > max(LEAST_SILENCE_SECONDS, SILENT_TICKS * self.tick_seconds)

    @property
    def who(self) -> str:
        """Who answered, for a person."""
        return f"{self.instance} ({'the leader' if self.leader else 'a standby'})"

    def knows(self, serving: ServingObject) -> bool:
        """Tell whether its pass was over the serving as it is now, a short while ago."""
        return self.generation >= serving.generation and not self.silent


class NotAnAnswerError(Exception):
    """What was read is no answer of an operator about this serving; its text is for a person."""


def live_of(document: Mapping[str, Any], serving: ServingObject) -> Live:
    """Read an answer.

    Raises:
        NotAnAnswerError: It is none, or about another object of that name.
    """
    try:
        uid, decision = str(document["uid"]), dict(document["decision"])
        found = Live(
            instance=str(document["instance"]),
            leader=document["leader"] is True,
            age_seconds=float(document["passAgeSeconds"]),
            tick_seconds=float(document["tickSeconds"]),
            generation=int(document["passGeneration"]),
            watch_heard_seconds_ago=_number(document.get("watchHeardSecondsAgo")),
            decision={**decision, "reason": str(decision["reason"])},
            lines=tuple(map(str, document["lines"])),
            concurrency=_number(document.get("concurrency")),
            facts=_facts(document["facts"]),
            remembered=_facts(document["remembered"]),
            settings=tuple(
                (str(each["field"]), str(each["value"]), str(each["from"]))
                for each in document["settings"]
            ),
            basis=tuple((str(each["what"]), str(each["value"])) for each in document["basis"]),
            table=tuple(dict(row) for row in document["cutoffTable"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotAnAnswerError("what answered is no operator of this version") from error
    if uid != serving.uid:
        raise NotAnAnswerError("the operator answered for another object of that name")
    return found


def _facts(entries: Any) -> tuple[Fact, ...]:
    return tuple(
        Fact(
            what=str(each["what"]),
            value=str(each["value"]),
            age_seconds=_number(each.get("ageSeconds")),
        )
        for each in entries
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
