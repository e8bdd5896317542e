"""Whether new Pods start: what the kubelet and the scheduler tell of those that do not.

A crash loop is told by two crashes; one is enough when the engine's own last words say that it
refuses its configuration. Those words are seen only where the Deployment asks for them
(terminationMessagePolicy: FallbackToLogsOnError): logs hold people's prompts, and are never read.
"""

import re
from collections.abc import Iterable
from typing import Final

from ridgeline.policy.facts import Problem
from ridgeline.policy.pod_start import Exit, PodStart
from ridgeline.policy.wording import duration
from ridgeline.terms.reasons import Reason

CRASHES: Final = 2
"""So many crashes of one Pod are a loop: the first may be a node's fault."""

UNSCHEDULABLE_SECONDS: Final = 300.0
"""A node autoscaler adds a GPU node within minutes; a Pod that waits longer waits for a person."""

IMAGE_RETRY_SECONDS: Final = 60.0
"""A registry may stumble: the kubelet tries again 10, 20 and 40 s after the first failures
(kubernetes.io/docs/concepts/containers/images, ImagePullBackOff)."""

_KILLED: Final = frozenset({137, 143})
_BUDGET_SHARE: Final = 0.8
_BUDGET_MOST: Final = 1.5
"""A server that ends in peace (exit code 0) about when a probe would kill it was asked to: vLLM
ends so at SIGTERM. One that ran for much longer had started."""

_LINE_LIMIT: Final = 300

_REFUSALS: Final = re.compile(
    r"ValidationError|ValueError: |error: argument |unrecognized arguments|NotImplementedError: "
)
"""How vLLM refuses a configuration (recorded with 0.32: pydantic's ValidationError, argparse's
`error: argument`, ValueError and NotImplementedError of its own checks)."""

_PULL: Final = frozenset({"ErrImagePull", "ImagePullBackOff"})
_CONTAINER: Final = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)


def cannot_pull(starts: Iterable[PodStart], profile: str) -> bool:
    """Tell whether the image of a new Pod could not be pulled the last time it was tried."""
    return any(each.profile == profile and each.waiting_reason in _PULL for each in starts)


def start_failure(
    starts: Iterable[PodStart],
    profile: str,
    startup_budget_seconds: float | None,
    pull_failing_seconds: float = 0.0,
) -> Problem | None:
    """Return why new Pods do not start, `None` while nothing says that they will not.

    Args:
        starts: Pods that are not Ready or have crashed.
        profile: Profile of the new ones.
        startup_budget_seconds: How long a start may take before a probe kills it; `None`: for ever.
        pull_failing_seconds: For how long the image of a new Pod cannot be pulled (`cannot_pull`).
    """
    gives_up = pull_failing_seconds >= IMAGE_RETRY_SECONDS
    for each in sorted(starts, key=lambda start: start.name):
        if each.profile != profile:
            continue
        found = _failure(each, startup_budget_seconds, gives_up_pulling=gives_up)
        if found is not None:
            return found
    return None


def _failure(start: PodStart, budget: float | None, *, gives_up_pulling: bool) -> Problem | None:
    """Return why one Pod does not start."""
    waiting, told = start.waiting_reason, _line(start.waiting_message)
    if start.unschedulable is not None and start.age_seconds >= UNSCHEDULABLE_SECONDS:
        limit = duration(UNSCHEDULABLE_SECONDS)
        message = f"Pod {start.name} found no node in {limit}: {_line(start.unschedulable)}"
        return Problem(reason=Reason.PODS_UNSCHEDULABLE, message=message)
    if waiting == "InvalidImageName" or (waiting in _PULL and gives_up_pulling):
        message = f"the image of Pod {start.name} cannot be pulled ({waiting}): {told}"
        return Problem(reason=Reason.IMAGE_PULL_FAILED, message=message)
    if waiting in _CONTAINER:
        message = f"the container of Pod {start.name} cannot be made ({waiting}): {told}"
        return Problem(reason=Reason.CONTAINER_CANNOT_START, message=message)
    return _crash(start, budget)


def _crash(start: PodStart, budget: float | None) -> Problem | None:
    last = start.last_exit
    if last is None:
        return None
    refusal = _refusal(last.message)
    if refusal is not None:
        message = f"the engine in Pod {start.name} refuses its configuration: {refusal}"
        return Problem(reason=Reason.ENGINE_REFUSES_CONFIG, message=message)
    if start.restarts < CRASHES and start.waiting_reason != "CrashLoopBackOff":
        return None
    if last.reason == "OOMKilled":
        message = f"the server in Pod {start.name} was killed for memory {start.restarts} times"
        return Problem(reason=Reason.PODS_CRASH, message=message)
    if _killed_by_probe(last, budget):
        ran = duration(last.ran_seconds or 0.0)
        message = (
            f"the server in Pod {start.name} was killed by its probe {start.restarts} times after "
            f"{ran}: it may take {duration(budget or 0.0)} to start"
        )
        return Problem(reason=Reason.KILLED_BY_PROBE, message=message)
    return Problem(reason=Reason.PODS_CRASH, message=_crash_message(start, last))


def _killed_by_probe(last: Exit, budget: float | None) -> bool:
    if budget is None or last.ran_seconds is None or last.ran_seconds < _BUDGET_SHARE * budget:
        return False
    in_peace = last.code == 0 and last.ran_seconds <= _BUDGET_MOST * budget
    return last.code in _KILLED or in_peace


def _crash_message(start: PodStart, last: Exit) -> str:
    words = _line(_last_line(last.message))
    said = (
        f"its last words: {words}"
        if words
        else "terminationMessagePolicy: FallbackToLogsOnError in the Deployment would keep its "
        "last words"
    )
    # The kubelet counts a crash when it starts the container again.
    times = max(start.restarts, CRASHES)
    return f"the server in Pod {start.name} crashed {times} times (exit {last.code}); {said}"


def _refusal(message: str) -> str | None:
    """Return the engine's own words when it refused its configuration."""
    lines = message.splitlines()
    found = next((i for i, line in enumerate(lines) if _REFUSALS.search(line)), None)
    return None if found is None else _line(" ".join(lines[found : found + 3]))


def _last_line(message: str) -> str:
    return next((each for each in reversed(message.splitlines()) if each.strip()), "")


def _line(text: str) -> str:
    """Return a stranger's text as one line of bounded length, without control characters."""
    plain = "".join(each if each.isprintable() else " " for each in text)
    plain = " ".join(plain.split())
    return plain if len(plain) <= _LINE_LIMIT else f"{plain[:_LINE_LIMIT]}…"
