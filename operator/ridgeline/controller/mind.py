"""What the process remembers of one serving; lost with it."""

from dataclasses import dataclass, field, replace

from ridgeline.cluster.objects import ServingObject
from ridgeline.controller.block import Block
from ridgeline.controller.view import View
from ridgeline.policy.canary.evidence import Evidence
from ridgeline.policy.canary.judge import Judgement
from ridgeline.policy.canary.lesson import learn_from_canary
from ridgeline.policy.drift import watch_of
from ridgeline.policy.law.memory import LawMemory
from ridgeline.policy.law.peak import merged
from ridgeline.policy.law_status import law_memory_of
from ridgeline.policy.learning import Learning, learn, worth_writing
from ridgeline.policy.memory import FastMemory
from ridgeline.policy.situation import observe
from ridgeline.policy.verification import Verification
from ridgeline.terms.rolls import RollState


@dataclass(slots=True)
class Pauses:
    """How long somebody else had a rollout paused, in one stage of a roll.

    Attributes:
        stage_at: The stage, by when it began.
        seconds: So long until now.
        seen_at: When it was last seen paused; `None` when it is not.
    """

    stage_at: float = 0.0
    seconds: float = 0.0
    seen_at: float | None = None

    def seen(self, stage_at: float, *, paused: bool, now: float) -> float:
        """Take note of a moment; return the seconds until now.

        A pause that is there when the stage is first seen (by a successor, say) counts from the
        stage's begin: nobody knows better, and too long a wait does less harm than a wrong blame.
        """
        if stage_at != self.stage_at:
            self.stage_at, self.seconds = stage_at, 0.0
            self.seen_at = stage_at if paused else None
        if self.seen_at is not None:
            self.seconds += max(0.0, now - self.seen_at)
        self.seen_at = now if paused else None
        return self.seconds


@dataclass(slots=True)
class Standing:
    """For how long something has held without a break, in one roll.

    Attributes:
        roll_at: The roll, by when it was announced.
        since: When it was first seen to hold; `None` while it does not.
    """

    roll_at: float = 0.0
    since: float | None = None

    def seen(self, roll_at: float, *, holds: bool, now: float) -> float:
        """Take note of a moment; return the seconds until now."""
        if not holds or roll_at != self.roll_at or self.since is None:
            self.roll_at, self.since = roll_at, now if holds else None
        return 0.0 if self.since is None else max(0.0, now - self.since)


@dataclass(slots=True)
class Mind:
    """Fast memory, what was learned since it was last told, and why our write was refused."""

    uid: str
    fast: FastMemory = field(default_factory=FastMemory)
    learning: Learning = field(default_factory=Learning)
    law: LawMemory | None = None
    law_told: object = None
    block: Block | None = None
    evidence: Evidence | None = None
    canary: Learning = field(default_factory=Learning)
    judgement: Judgement | None = None
    after: Evidence | None = None
    pauses: Pauses = field(default_factory=Pauses)
    pulls: Standing = field(default_factory=Standing)
    verification: Verification | None = None

    def law_with(self, serving: ServingObject) -> LawMemory:
        """Return what the law remembers, with what another process wrote meanwhile taken over."""
        told = serving.status.get("control")
        if self.law is None or (told is not self.law_told and told != self.law_told):
            written, mine = law_memory_of(serving.status), self.law or LawMemory()
            peak = merged(written.peak, mine.slow.peak)
            self.law = LawMemory(slow=replace(written, peak=peak), fast=mine.fast)
            self.law_told = told
        return self.law

    def learn_from(self, view: View, *, may_write: bool) -> View:
        """Learn from a pass; return the view with what is worth telling status."""
        known = view.memory.slow.learned
        self._learn_from_canary(view)
        situation = observe(view.facts, view.settings, view.memory, view.now, view.seen)
        self.learning = learn(situation, known, self.learning)
        learned = self.learning.learned
        view = view.with_drift(self.learning.drift.problem())
        if learned is None or not (may_write and worth_writing(known, learned, view.now)):
            return view
        learned = replace(learned, written_at=view.now)
        self.learning = replace(self.learning, learned=learned)
        slow = replace(view.memory.slow, learned=learned)
        return replace(view, memory=replace(view.memory, slow=slow))

    def _learn_from_canary(self, view: View) -> None:
        roll = view.roll
        if roll is None or roll.state is not RollState.CANARY:
            self.canary = Learning()
            return
        self.canary, self.learning = learn_from_canary(
            view.facts,
            roll.to_profile,
            view.settings,
            view.memory,
            self.canary,
            self.learning,
            view.now,
        )


def fresh_mind(serving: ServingObject) -> Mind:
    """Return the mind of a process that sees a serving for the first time."""
    return Mind(uid=serving.uid, learning=Learning(drift=watch_of(serving.status)))
