"""The verdict on a canary: better, worse, or no different from the old replicas.

Let T be the time per output token of each side over the same windows, T' that of the old side
brought to the canary's concurrency along the old profile's predicted curve, and r = T_canary ÷ T'.

    margin = √( (10 % ÷ √boots)² + 1/tokens_canary + 1/tokens_old )

with the boots of the side that has fewer. One configuration yields 92 to 111 tokens/s from start to
start (kernels are tuned at each; seen on the real engine), so a lone canary tells nothing of
differences below 10 %; the rest is the error of counting. Without a curve the two are compared as
they are, where that cannot mislead: a side that is slower though no more was asked of it is slower.
Then

    slower         r ≥ 1 + margin
    better         r ≤ 1 − margin
    below promise  between, and r above the predicted ratio by more than its error and the margin
    alike          between, and little was promised: the prediction stands

Before all of it, the answers: of another length, or with other reasons to end, means another text,
however fast. They are compared only when the canary has served for three mean answers, since at
first only short ones have finished. Of n and m answers, whose lengths vary by v = 2.2 (standard
deviation ÷ mean), the logarithm of the ratio of means has the error v · √(1/n + 1/m): only what
exceeds three of it counts.
"""

import math
from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.canary.evidence import SURVIVORS, Evidence, Group
from ridgeline.policy.comparison import Comparison
from ridgeline.policy.facts import Problem
from ridgeline.policy.roll_steps import Found
from ridgeline.policy.verdict import at_least, at_most
from ridgeline.policy.wording import number
from ridgeline.terms.reasons import Reason

BOOT_SPREAD: Final = 0.10
PREDICTION_ERROR: Final = 0.15
"""Relative error of a predicted ratio of two profiles that were not both seen (three times the mean
error of the cost model's step times on published measurements)."""

LEAST_TOKENS: Final = 2000.0
LEAST_WINDOWS: Final = 3
ALIKE_WINDOWS: Final = 5
"""Windows until a difference within the margin counts as none."""

ANSWER_WINDOWS: Final = 8
"""Windows after which a verdict no longer waits for answers to compare."""

LEAST_ANSWERS: Final = 30.0
ANSWER_RATIO: Final = 2.0
REASON_SHARE: Final = 0.3
ANSWER_SPREAD: Final = 2.2
"""Standard deviation of answer lengths ÷ their mean: 2.15 in the Azure code trace of 2023, 0.7 to
0.8 in public traces of conversations."""

_SURE: Final = 3.0
"""Standard errors that a difference must exceed."""

LEAST_SHARE: Final = 0.25
"""Of an old replica's tokens and of its concurrency: a canary with less of both stands aside of the
traffic. One with less of the tokens alone is slow."""

EVEN_SHARE: Final = 0.75
"""Of an old replica's tokens: from here to its inverse the two count as asked the same."""

MOST_RATIO: Final = 1000.0
"""Ratios of times beyond it are all the same: numbers stay finite and can be read."""

LEAST_PERCENT: Final = -1000
"""The lowest gain that status holds."""

LEAST_CONCURRENCY: Final = 1e-6
"""Less is no load: nothing is divided by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What came out of it.

    Attributes:
        found: The verdict.
        why: The same for a person.
        comparisons: Every number that was compared.
        gain_percent: How much less time per token the canary takes, at least -1000; `None` while
            that is not known.
        promised_percent: The same as predicted, `None` without a prediction.
    """

    found: Found
    why: Problem
    comparisons: tuple[Comparison, ...] = ()
    gain_percent: int | None = None
    promised_percent: int | None = None


def judge(
    evidence: Evidence, old_curve: Curve | None, new_curve: Curve | None, now: float
) -> Judgement:
    """Return the verdict on a canary.

    Args:
        evidence: What was gathered.
        old_curve: Predicted throughput of the profile before, `None` without a prediction.
        new_curve: That of the canary's profile.
        now: Epoch seconds.
    """
    answers = _answers(evidence, now)
    if isinstance(answers, Judgement):
        return answers
    too_little = _too_little(evidence)
    if too_little is not None:
        return _not_yet(too_little)
    ratio = _ratio(evidence, old_curve)
    if ratio is None:
        return _not_yet("its load and that of the old replicas cannot be compared yet")
    promised = _promised(evidence.new.concurrency, old_curve, new_curve)
    judged = _by_speed(evidence, ratio, promised)
    told = bool(evidence.old.finished)  # else the servers do not tell how answers end
    waits = told and not answers and evidence.windows < ANSWER_WINDOWS
    if waits and judged.found in (Found.BETTER, Found.ALIKE):
        return _not_yet(f"{judged.why.message}; its answers are too few to compare yet")
    return judged


def _by_speed(evidence: Evidence, ratio: float, promised: float | None) -> Judgement:
    margin = margin_of(evidence)
    slower = at_least(
        "time per token, canary ÷ old", ratio, 1.0 + margin, met="slower", missed="not slower"
    )
    better = at_most(
        "time per token, canary ÷ old", ratio, 1.0 - margin, met="better", missed="not better"
    )
    compared: tuple[Comparison, ...] = (slower, better)
    gain = f"{_percent(ratio)} per token than the old replicas (± {number(100 * margin)} %)"
    if promised is not None:
        gain += f", {_percent(promised)} promised"
    if ratio >= 1.0 + margin:
        return _judged(Found.WORSE, Reason.CANARY_SLOWER, gain, compared, ratio, promised)
    if ratio <= 1.0 - margin:
        return _judged(Found.BETTER, Reason.CANARY_BETTER, gain, compared, ratio, promised)
    if promised is not None:
        limit = promised * (1.0 + math.hypot(PREDICTION_ERROR, margin))
        kept = at_most(
            "time per token, canary ÷ old, beside the promise",
            ratio,
            limit,
            met="as promised",
            missed="less than promised",
        )
        compared = (*compared, kept)
        if ratio > limit and evidence.windows >= ALIKE_WINDOWS:
            return _judged(
                Found.WORSE, Reason.CANARY_BELOW_PROMISE, gain, compared, ratio, promised
            )
    if evidence.windows < ALIKE_WINDOWS:
        return _not_yet(f"{gain}: {evidence.windows} of {ALIKE_WINDOWS} windows")
    return _judged(Found.ALIKE, Reason.CANARY_ALIKE, gain, compared, ratio, promised)


def margin_of(evidence: Evidence) -> float:
    """Return the relative difference that one side must exceed to count."""
    boots = BOOT_SPREAD / math.sqrt(max(1, min(evidence.new.replicas, evidence.old.replicas)))
    counted = 1.0 / evidence.new.tokens + 1.0 / evidence.old.tokens
    return math.sqrt(boots * boots + counted)


def _too_little(evidence: Evidence) -> str | None:
    """Return what is missing for a verdict on speed, `None` when there is enough."""
    new, old = evidence.new, evidence.old
    if evidence.first_tokens_at is None:
        return "it has not made a token yet"
    if evidence.windows < LEAST_WINDOWS:
        return f"{evidence.windows} of {LEAST_WINDOWS} windows seen"
    for tokens, who in ((new.tokens, "it"), (old.tokens, "the old replicas")):
        if tokens < LEAST_TOKENS:
            return f"{who} made {number(tokens)} of {number(LEAST_TOKENS)} tokens"
    busy = new.concurrency / old.concurrency if old.concurrency > 0 else 0.0
    asked = max(_share_of_tokens(evidence), busy)
    if asked < LEAST_SHARE:
        return (
            f"it is asked for {number(100 * asked)} % of what an old replica is, and "
            f"{number(100 * LEAST_SHARE)} % are needed"
        )
    return None


def _share_of_tokens(evidence: Evidence) -> float:
    """Return a canary engine's tokens per second by an old one's."""
    new, old = evidence.new, evidence.old
    return (new.tokens / new.engine_seconds) / (old.tokens / old.engine_seconds)


def _ratio(evidence: Evidence, old_curve: Curve | None) -> float | None:
    """Return the canary's time per token by the old side's at the same load; `None`: not alike."""
    new, old = evidence.new, evidence.old
    ours, theirs = new.seconds_per_token, old.seconds_per_token
    if not ours or not theirs or min(new.concurrency, old.concurrency) < LEAST_CONCURRENCY:
        return None
    if old_curve is not None:
        here = old_curve.seconds_per_token_at(new.concurrency)
        there = old_curve.seconds_per_token_at(old.concurrency)
        return min(ours / (theirs * here / there), MOST_RATIO)
    # Time per token grows with throughput, so a canary that is slower and delivers no more is so,
    # and one that is faster and delivers no less. Else about equal shares of the traffic must do.
    share = _share_of_tokens(evidence)
    if (share - 1.0) * (ours - theirs) <= 0 or EVEN_SHARE <= share <= 1.0 / EVEN_SHARE:
        return min(ours / theirs, MOST_RATIO)
    return None


def _promised(concurrency: float, old: Curve | None, new: Curve | None) -> float | None:
    if old is None or new is None:
        return None
    return new.seconds_per_token_at(concurrency) / old.seconds_per_token_at(concurrency)


def _answers(evidence: Evidence, now: float) -> Judgement | bool:
    """Return a verdict when the answers differ, else whether they could be compared."""
    new, old = evidence.new, evidence.old
    mean, speed = old.mean_answer, old.seconds_per_token
    if mean is None or speed is None or evidence.first_tokens_at is None:
        return False
    slowest = max(speed, new.seconds_per_token or speed)
    if now - evidence.first_tokens_at < SURVIVORS * mean * slowest:
        return False
    if new.mean_answer is None or min(new.answers, old.answers) < LEAST_ANSWERS:
        return False
    # Empty answers count as one token: the comparison stays finite.
    ratio = max(1.0, new.mean_answer) / max(1.0, mean)
    error = ANSWER_SPREAD * math.sqrt(1.0 / new.answers + 1.0 / old.answers)
    limit = math.exp(max(math.log(ANSWER_RATIO), _SURE * error))
    other = at_most(
        "length of answers, the longer ÷ the shorter",
        max(ratio, 1.0 / ratio),
        limit,
        met="alike",
        missed="another text",
    )
    if other.value > limit:
        told = (
            f"its answers have {number(new.mean_answer)} tokens, those of the old replicas "
            f"{number(mean)}"
        )
        return _differ(told, other)
    differing = _other_reason(new, old)
    return True if differing is None else _differ(*differing)


def _other_reason(new: Group, old: Group) -> tuple[str, Comparison] | None:
    """Return which reason to end is more or less frequent than it was, `None` when none is."""
    ours, theirs = dict(new.finished), dict(old.finished)
    n, m = sum(ours.values()), sum(theirs.values())
    for reason in sorted({*ours, *theirs}):
        here, there = ours.get(reason, 0.0) / n, theirs.get(reason, 0.0) / m
        pooled = (ours.get(reason, 0.0) + theirs.get(reason, 0.0)) / (n + m)
        error = math.sqrt(max(0.0, pooled * (1.0 - pooled)) * (1.0 / n + 1.0 / m))
        limit = max(REASON_SHARE, _SURE * error)
        if abs(here - there) > limit:
            told = (
                f"{number(100 * here)} % of its answers end with {reason!r}, and "
                f"{number(100 * there)} % of the old replicas'"
            )
            return told, at_most(
                f"difference in the share of answers that end with {reason}",
                abs(here - there),
                limit,
                met="alike",
                missed="another text",
            )
    return None


def _differ(told: str, compared: Comparison) -> Judgement:
    why = Problem(reason=Reason.ANSWERS_DIFFER, message=told)
    return Judgement(found=Found.WORSE, why=why, comparisons=(compared,))


def _not_yet(told: str) -> Judgement:
    return Judgement(found=Found.NOT_YET, why=Problem(reason=Reason.CANARY_UNDER_WAY, message=told))


def _judged(
    found: Found,
    reason: Reason,
    told: str,
    compared: tuple[Comparison, ...],
    ratio: float,
    promised: float | None,
) -> Judgement:
    return Judgement(
        found=found,
        why=Problem(reason=reason, message=told),
        comparisons=compared,
        gain_percent=_gain(ratio),
        promised_percent=None if promised is None else _gain(promised),
    )


def _gain(ratio: float) -> int:
    return max(LEAST_PERCENT, round(100.0 * (1.0 - min(ratio, MOST_RATIO))))


def _percent(ratio: float) -> str:
    """Return a ratio of times as a person says it."""
    change = 100.0 * (1.0 - ratio)
    return f"{number(abs(change))} % {'less' if change >= 0 else 'more'} time"
