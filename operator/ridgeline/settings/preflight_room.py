"""What the GPUs have room for with each profile, before anything started, where that matters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.known import implausible, missing_of
from ridgeline.costmodel.memory import Room, room_of
from ridgeline.engine.check_subject import Subject
from ridgeline.engine.contract import EngineContract
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.flags import precision_hint
from ridgeline.engine.served_model import served_model
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.policy.learned import Learned
from ridgeline.settings.goodput import GoodputInputs, Question, ask
from ridgeline.settings.target_model import TargetModel
from ridgeline.terms.precision import Precision

_MOST: Final = 0.5
"""A draft that leaves this share of the requests or less is worth a word."""

_FEW: Final = 32.0
"""Below so many requests a server is full before speculation stops to pay on most GPUs, so that a
draft which takes a tenth of them is worth a word."""

_TENTH: Final = 0.9

_HIGH_SHARE: Final = 0.95
"""Above it, servers that speculate were seen to run out of memory (vllm issues 8731, 22624)."""

_WITH_WEIGHTS: Final = frozenset({"eagle", "eagle3", "draft_model", "mtp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What memory is reckoned with.

    Attributes:
        accelerator: The GPU.
        model: The served model.
        precision: Of its weights, where a person said it; `None`: as the command line tells.
        learned: What telemetry taught of its requests, `None` before it did.
    """

    accelerator: Accelerator
    model: TargetModel
    precision: Precision | None = None
    learned: Learned | None = None


def rooms_of(
    words: Sequence[str], profiles: Sequence[Profile], contract: EngineContract, hardware: Hardware
) -> Mapping[str, Room | CannotSay]:
    """Return what fits with each profile, by its name, where a person should know it.

    Left out are profiles without an answer, and those whose draft hardly costs a request. That
    nothing fits is told only where the precision is: a checkpoint whose name and flags tell none
    may be smaller than 16 bits.

    Args:
        words: Command and arguments, variables expanded.
        profiles: The profiles.
        contract: What the release accepts.
        hardware: What memory is reckoned with.
    """
    hint = precision_hint(words)
    question = ask(
        profiles,
        GoodputInputs(
            accelerator=hardware.accelerator,
            model=hardware.model,
            precision=hardware.precision or hint.precision,
            served=served_model(words),
            engine_version=contract.version,
            learned=hardware.learned,
        ),
    )
    if isinstance(question, Problem) or implausible(question.deployment, question.workload):
        return {}
    told = hardware.precision is not None or hint.told
    rooms = _rooms(_with_defaults(question, words, contract))
    off = next((rooms.get(arm.name) for arm in question.arms if not arm.method.speculates), None)
    most = off.max_concurrency if isinstance(off, Room) else None
    return {
        name: room
        for name, room in rooms.items()
        if (is_tight(room, most) if isinstance(room, Room) else told)
    }


def share_findings(subject: Subject) -> Iterator[Finding]:
    """Yield that the engine takes so much memory that nothing is left beside it."""
    share = subject.served.gpu_memory_utilization
    if share is None or share <= _HIGH_SHARE or subject.method not in _WITH_WEIGHTS:
        return
    yield Finding(
        check="MemoryShareHigh",
        flag="--gpu-memory-utilization",
        value=f"{share:g}",
        consequence="the drafter's captured graphs and buffers come on top of the share that is "
        "measured at the start: the server may run out of memory",
        fix="write 0.9, and less where graphs are captured for many requests",
        severity=Severity.WARNING,
    )


def is_tight(room: Room, without: float | None) -> bool:
    """Tell whether memory leaves so little that a person should know it.

    Args:
        room: What fits with a profile.
        without: Requests that fit without speculation; `None` when that is not known.
    """
    fit = room.max_concurrency
    if without is None:
        return fit < _FEW
    return fit <= _MOST * without or (fit < _FEW and fit <= _TENTH * without)


def _with_defaults(question: Question, words: Sequence[str], contract: EngineContract) -> Question:
    """Return the question with the release's own share of memory where no flag tells one."""
    told = served_model(words).gpu_memory_utilization
    share = told or contract.default_memory_utilization
    deployment = replace(question.deployment, gpu_memory_utilization=share)
    return replace(question, deployment=deployment)


def _rooms(question: Question) -> dict[str, Room | CannotSay]:
    return {
        arm.name: room_of(question.deployment, arm, question.workload)
        for arm in question.arms
        if missing_of(arm) is None
    }
