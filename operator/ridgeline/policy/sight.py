"""The checks of what can be seen: is there data, is it finite, fresh, complete and consistent?"""

import math
from typing import Final

from ridgeline.policy.decision import Comparison
from ridgeline.policy.facts import EngineFacts, ReplicaFacts
from ridgeline.policy.fleet import NEEDED_SIGNAL, Fleet
from ridgeline.policy.situation import Situation
from ridgeline.policy.verdict import PASSED, Verdict, at_least, at_most, held, passed
from ridgeline.policy.wording import duration, names, number
from ridgeline.terms.methods import Method
from ridgeline.terms.reasons import Reason

SHARE_FOR_BUSIER: Final = 0.8
"""Share of the expected replicas that must have joined for any move; the least for "off".

Moving to a quieter row needs all of them: an unseen replica may be the busy one, and speculating
too long costs queues, while being off a little early costs only latency per token.
"""

MAY_PROPOSE_NOTHING: Final = frozenset({Method.NGRAM, Method.SUFFIX})
"""Methods that draft only when the text repeats itself: no series of theirs proves nothing."""


SURELY_DRAFTED: Final = 1.05
"""Acceptance length that no server without speculation shows.

It is 1.000 there (vLLM 0.32, every recording without speculation); the rest is room for rates whose
counters were scraped within one step.
"""


def age_within(name: str, age: float, limit: float) -> Comparison:
    """Compare an age with the age up to which data is acted on."""
    return at_most(name, age, limit, met="fresh", missed="too old to act on")


def finite_data(situation: Situation) -> Verdict:
    """Guard that the needed signal is a number wherever it was measured."""
    broken = situation.fleet.not_finite
    if broken:
        return held(
            Reason.NOT_FINITE,
            f"{NEEDED_SIGNAL} is NaN or infinite for {_pods(broken)}; nothing is compared with it",
        )
    if situation.fleet.joined and situation.estimates.concurrency is None:
        return held(
            Reason.NOT_FINITE,
            f"the mean of {NEEDED_SIGNAL} over {_pods(situation.fleet.joined)} is not finite",
        )
    return PASSED


def data(situation: Situation) -> Verdict:
    """Guard that at least one replica older than the window has samples fresh enough."""
    fleet = situation.fleet
    if fleet.joined or fleet.partial or situation.telemetry is None:
        return PASSED
    endpoint = situation.telemetry.endpoint
    if not fleet.stale:
        return held(
            Reason.NO_DATA,
            f"telemetry endpoint {endpoint!r} answers, but has no samples of any of the "
            f"{fleet.expected} Ready Pods older than the rate window "
            f"({names(_names(fleet.silent))}){_warned(situation)}",
        )
    limit = situation.telemetry.stale_after_seconds
    age = fleet.newest_stale_age
    told = "no usable time" if age is None else duration(age)
    return held(
        Reason.STALE_DATA,
        f"the newest sample of {_pods(fleet.stale)} is {told} old (acted on up to "
        f"{duration(limit)})",
        *(() if age is None else (age_within("age of the newest sample, seconds", age, limit),)),
    )


def completeness(situation: Situation) -> Verdict:
    """Guard that enough replicas joined for any move; what a quieter row needs comes later."""
    fleet = situation.fleet
    if fleet.expected == 0:
        return PASSED
    compared = joined_share(fleet, SHARE_FOR_BUSIER, allows="moving to a busier row")
    ages = _ages(situation)
    if compared.value < SHARE_FOR_BUSIER:
        return held(
            Reason.PARTIAL_DATA,
            f"{unseen(fleet)}; switching off needs {number(100 * SHARE_FOR_BUSIER)} %, "
            f"switching on all of them{_warned(situation)}",
            compared,
            *ages,
        )
    return passed(compared, *ages)


def _warned(situation: Situation) -> str:
    """What the endpoint warned of, to be put after a sentence."""
    warnings = () if situation.telemetry is None else situation.telemetry.warnings
    return f"; it warns: {'; '.join(warnings)}" if warnings else ""


def _ages(situation: Situation) -> tuple[Comparison, ...]:
    oldest = situation.estimates.oldest_age_seconds
    if oldest is None or situation.telemetry is None:
        return ()
    limit = situation.telemetry.stale_after_seconds
    return (age_within("age of the oldest sample used, seconds", oldest, limit),)


def joined_share(fleet: Fleet, limit: float, *, allows: str) -> Comparison:
    """Compare the share of expected replicas that joined with what a move needs."""
    share = len(fleet.joined) / fleet.expected
    return at_least(
        "share of expected replicas joined",
        share,
        limit,
        met=f"enough for {allows}",
        missed=f"too few for {allows}",
    )


def unseen(fleet: Fleet) -> str:
    """Say how many replicas joined, and what the others lack."""
    lacks = (
        ("no samples", fleet.silent),
        ("stale samples", fleet.stale),
        ("engines missing or ambiguous", fleet.partial),
    )
    told = "; ".join(f"{what}: {names(_names(pods))}" for what, pods in lacks if pods)
    return f"{len(fleet.joined)} of {fleet.expected} Ready Pods have complete samples ({told})"


def profile_match(situation: Situation) -> Verdict:
    """Guard that the servers do what the template says: the label and the metrics must agree."""
    for replica in situation.fleet.joined:
        contradiction = _contradiction(situation, replica)
        if contradiction is not None:
            return held(Reason.PROFILE_MISMATCH, f"Pod {replica.name} {contradiction}")
    return PASSED


def _contradiction(situation: Situation, replica: ReplicaFacts) -> str | None:
    active, methods = situation.active, situation.settings.methods
    # A label that names no profile of the serving says nothing; the template's config then does.
    started = replica.profile if replica.profile in methods else active
    if started is None or started not in methods:
        return None
    if active is not None and started != active:
        return f"was started with profile {started}, but the Pod template carries {active}"
    method = methods[started]
    if not method.speculates:
        if not any(map(_drafts, replica.engines)):
            return None
        return (
            f"drafts tokens although profile {started} is {method}: check that the container "
            "reads SPECULATION_CONFIG, with an empty default"
        )
    must_draft = method not in MAY_PROPOSE_NOTHING
    if must_draft and all(map(_shows_no_drafts, replica.engines)):
        return (
            f"exports no speculation series although profile {started} is {method}: check that "
            "the container reads SPECULATION_CONFIG"
        )
    return None


def _drafts(engine: EngineFacts) -> bool:
    drafts = engine.drafts_per_second
    return drafts is not None and 0.0 < drafts < math.inf


def _shows_no_drafts(engine: EngineFacts) -> bool:
    """Whether the engine was looked at for speculation series and has none.

    Drafts are read less often than concurrency, together with engine steps, which every server
    exports: without those, nobody has looked yet. A speculating server exports the series at 0 from
    its first scrape on (vLLM 0.32), so an idle one is not mistaken.
    """
    if engine.steps_per_second is None or engine.drafts_per_second is not None:
        return False
    length = engine.acceptance_length
    drafted = "drafts" in engine.not_finite or (length is not None and length > SURELY_DRAFTED)
    return not drafted


def _names(replicas: tuple[ReplicaFacts, ...]) -> tuple[str, ...]:
    return tuple(replica.name for replica in replicas)


def _pods(replicas: tuple[ReplicaFacts, ...]) -> str:
    return f"Pod{'s' if len(replicas) > 1 else ''} {names(_names(replicas))}"
