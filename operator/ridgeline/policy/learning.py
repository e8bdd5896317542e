"""Learns from telemetry what a profile really does: one update for each independent rate window.

    context   ← context   + g·(observed − context)       prompt + half an answer, per request
    prefill   ← prefill   + g·(observed − prefill)       prompt tokens computed per generated token
    p_i       ← p_i       + g·(observed − p_i)           the active profile's alone
    drafted   ← drafted   + g·(observed − drafted)       share of request-steps that drafted
    log_scale ← by `costmodel.calibration`                where concurrency stood still

with g = GAIN, and 1 for the first window. Nothing is learned while anything is being rolled, from a
fleet that is not seen whole, or from so little traffic that a share would be noise.

What was learned is written to status only when it differs by more than a reader would notice, and
at most every ten minutes (what nobody knew before at once): a steady state writes nothing.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Final

from ridgeline.costmodel.arm import Calibration
from ridgeline.costmodel.calibration import Window
from ridgeline.costmodel.calibration import learned as calibrated
from ridgeline.policy.drift import DriftWatch, watched
from ridgeline.policy.facts import EngineFacts
from ridgeline.policy.learned import Learned, LearnedArm
from ridgeline.policy.settings import Prediction
from ridgeline.policy.sight import MAY_PROPOSE_NOTHING
from ridgeline.policy.situation import Situation
from ridgeline.policy.sums import exact_sum

GAIN: Final = 0.2
"""Weight of one window once several were seen: half of a change is known after three windows."""

LEAST_REQUEST_STEPS: Final = 200.0
"""Request-steps of a window below which its shares are not learned from (standard deviation of a
share of 0.5: 3.5 points)."""

STABLE_SHARE: Final = 0.1
"""Concurrency may differ by this share from the window before for a step time to count."""

WRITE_SECONDS: Final = 600.0
"""Least time between two writes of what was known before already."""

_RATE_STEP: Final = 0.03
_SCALE_STEP: Final = 0.02
_SHARE_STEP: Final = 0.1
_WINDOW_STEPS: Final = (1, 5, 20)
"""Numbers of windows at which the uncertainty of a calibration is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """What the process has learned since it last told; lost with it.

    Attributes:
        learned: The estimate, finer than what status holds; `None` before the first window.
        next_at: Epoch seconds at which the next window is over.
        concurrency: Concurrency of the window before, `None` without one.
        profile: Profile of the window before.
        drift: Whether the active profile still does what it used to.
    """

    learned: Learned | None = None
    next_at: float = 0.0
    concurrency: float | None = None
    profile: str | None = None
    drift: DriftWatch = field(default_factory=DriftWatch)


def learn(situation: Situation, known: Learned | None, learning: Learning) -> Learning:
    """Return what is known after this moment.

    Args:
        situation: The moment.
        known: What status holds; what the process learned beyond it is dropped when somebody took
            it out of there.
        learning: What the process knows.
    """
    prediction, now = situation.settings.prediction, situation.now
    if prediction is None:
        return Learning()
    start = _start(prediction, known, learning)
    window = situation.telemetry.window_seconds if situation.telemetry is not None else 0.0
    if now < learning.next_at <= now + window:
        return learning if learning.learned is start else replace(learning, learned=start)
    concurrency = situation.estimates.concurrency
    if not _can_learn(situation, window) or concurrency is None:
        return replace(learning, learned=start, concurrency=None)
    stable = (
        learning.concurrency is not None
        and learning.profile == situation.active
        and abs(concurrency - learning.concurrency) <= STABLE_SHARE * learning.concurrency
    )
    return Learning(
        learned=_updated(situation, prediction, start, stable=stable),
        next_at=now + window,
        concurrency=concurrency,
        profile=situation.active,
        drift=_watched(situation, prediction, start, learning.drift, stable=stable),
    )


def worth_writing(known: Learned | None, learned: Learned | None, now: float) -> bool:
    """Tell whether status should be told what was learned."""
    if learned is None or (learned.context_tokens is None and not learned.arms):
        return False
    if known is None or known.basis != learned.basis:
        return True
    before = {each.profile: each for each in known.arms}
    if any(
        each.profile not in before or _newly(before[each.profile], each) for each in learned.arms
    ):
        return True
    if known.context_tokens is None and learned.context_tokens is not None:
        return True
    if 0.0 <= now - known.written_at < WRITE_SECONDS:
        return False
    return _moved(known.context_tokens, learned.context_tokens, _SHARE_STEP) or (
        _moved(known.prefill_per_token, learned.prefill_per_token, _SHARE_STEP)
        or any(_differs(before[each.profile], each) for each in learned.arms)
    )


def _newly(before: LearnedArm, after: LearnedArm) -> bool:
    """Tell whether something is known of a profile of which nothing was."""
    rates = bool(after.acceptance) and len(before.acceptance) != len(after.acceptance)
    return rates or (before.windows == 0 < after.windows)


def _differs(before: LearnedArm, after: LearnedArm) -> bool:
    rates = zip(before.acceptance, after.acceptance, strict=False)
    drafted = abs((before.drafted or 0.0) - (after.drafted or 0.0))
    return (
        any(abs(was - is_now) >= _RATE_STEP for was, is_now in rates)
        or drafted >= _RATE_STEP
        or abs(before.log_scale - after.log_scale) >= _SCALE_STEP
        or any(before.windows < step <= after.windows for step in _WINDOW_STEPS)
    )


def _moved(before: float | None, after: float | None, share: float) -> bool:
    if before is None or after is None:
        return (before is None) != (after is None)
    return abs(after - before) > share * max(before, 0.1)


def _start(prediction: Prediction, known: Learned | None, learning: Learning) -> Learned:
    """Return the estimate to go on from: the finer one, unless status holds another basis."""
    mine = learning.learned
    if known is None or known.basis != prediction.basis:
        taken_out = mine is not None and mine.written_at > 0.0
        fresh = mine is None or mine.basis != prediction.basis or taken_out
        return Learned(basis=prediction.basis) if fresh or mine is None else mine
    if mine is None or mine.basis != known.basis:
        return known
    if mine.written_at == known.written_at:
        return mine
    return replace(mine, written_at=known.written_at)


def _can_learn(situation: Situation, window: float) -> bool:
    fleet, target = situation.fleet, situation.target
    if target is None or target.rollout is not None or fleet.pending:
        return False
    if situation.active not in situation.settings.methods:
        return False
    if not fleet.joined or len(fleet.joined) != fleet.expected:
        return False
    if any(each.profile not in (None, situation.active) for each in fleet.joined):
        return False
    steps = exact_sum(each.request_steps_per_second for each in fleet.engines)
    return steps is not None and steps * window >= LEAST_REQUEST_STEPS


def _updated(
    situation: Situation, prediction: Prediction, start: Learned, *, stable: bool
) -> Learned:
    active, engines = situation.active, situation.fleet.engines
    if active is None:
        return start
    arm = start.arm(active) or LearnedArm(profile=active)
    if situation.settings.methods[active].speculates:
        arm = _with_acceptance(arm, engines, scheduled=active in prediction.scheduled)
    if stable:
        arm = _with_scale(arm, situation, prediction)
    known = replace(
        start,
        context_tokens=_towards(start.context_tokens, _context(engines), GAIN),
        prefill_per_token=_towards(start.prefill_per_token, _prefill(engines), GAIN),
    )
    return known.with_arm(arm) if arm != LearnedArm(profile=active) else known


def _with_acceptance(
    arm: LearnedArm, engines: tuple[EngineFacts, ...], *, scheduled: bool
) -> LearnedArm:
    """Return what is known of a profile with the acceptance of a window.

    Steps in which a schedule drafts nothing say nothing of how often the method finds a draft.
    """
    told = [each for each in engines if each.acceptance and each.drafts_per_second]
    rates = _mean_rates([(each.acceptance or (), each.drafts_per_second or 0.0) for each in told])
    drafted = _ratio(
        exact_sum(each.drafts_per_second for each in engines),
        exact_sum(each.request_steps_per_second for each in engines),
    )
    if drafted is not None and not scheduled:
        arm = replace(arm, drafted=_towards(arm.drafted, min(1.0, drafted), GAIN))
    if rates is None:
        return arm
    if len(rates) != len(arm.acceptance):
        return replace(arm, acceptance=rates)
    return replace(
        arm,
        acceptance=tuple(
            was + GAIN * (seen - was) for was, seen in zip(arm.acceptance, rates, strict=True)
        ),
    )


def _mean_rates(told: list[tuple[tuple[float, ...], float]]) -> tuple[float, ...] | None:
    """Return the mean of acceptances weighted by drafts; `None` where engines differ in K."""
    lengths = {len(rates) for rates, _ in told}
    total = exact_sum(drafts for _, drafts in told)
    if len(lengths) != 1 or not total:
        return None
    means, ceiling = [], 1.0
    for position in range(lengths.pop()):
        mean = math.fsum(sorted(rates[position] * drafts for rates, drafts in told)) / total
        # Counters of two scrapes differ by a step: a later position never counts more.
        ceiling = min(max(mean, 0.0), ceiling)
        means.append(ceiling)
    return tuple(means)


def _with_scale(arm: LearnedArm, situation: Situation, prediction: Prediction) -> LearnedArm:
    window = _window(situation, prediction, arm.profile)
    if window is None:
        return arm
    # A profile that was never seen begins with the scale that its curve was drawn with.
    begun = arm.log_scale if arm.windows else prediction.scales.get(arm.profile, 0.0)
    after = calibrated(Calibration(log_scale=begun, windows=arm.windows), window)
    return replace(arm, log_scale=after.log_scale, windows=after.windows)


def _window(situation: Situation, prediction: Prediction, profile: str) -> Window | None:
    """Return observed and modelled step time of the window, `None` where one is not known."""
    table, concurrency = situation.table, situation.estimates.concurrency
    curve = table.curve(profile) if table is not None else None
    length = prediction.lengths.get(profile)
    step = _weighted_step(situation.fleet.engines)
    if curve is None or length is None or step is None or not concurrency:
        return None
    # The curve has the scale that status holds in it already; the estimator wants it without.
    predicted = curve.seconds_per_token_at(concurrency) * length
    scale = prediction.scales.get(profile, 0.0)
    return Window(step_seconds=step, modelled_seconds=predicted / math.exp(scale))


def _watched(
    situation: Situation,
    prediction: Prediction,
    start: Learned,
    watch: DriftWatch,
    *,
    stable: bool,
) -> DriftWatch:
    """Return the watch of the active profile after the window."""
    active = situation.active
    if active is None:
        return watch
    method, seen = situation.settings.methods[active], LearnedArm(profile=active)
    if method.speculates and method not in MAY_PROPOSE_NOTHING:
        seen = _with_acceptance(
            seen, situation.fleet.engines, scheduled=active in prediction.scheduled
        )
    window = _window(situation, prediction, active) if stable else None
    return watched(watch, start.arm(active) or LearnedArm(profile=active), seen, window)


def _weighted_step(engines: tuple[EngineFacts, ...]) -> float | None:
    pairs = [
        (each.step_seconds, each.request_steps_per_second)
        for each in engines
        if each.step_seconds and each.request_steps_per_second
    ]
    return _ratio(
        exact_sum((step or 0.0) * (steps or 0.0) for step, steps in pairs),
        exact_sum(steps for _, steps in pairs),
    )


def _context(engines: tuple[EngineFacts, ...]) -> float | None:
    """Return the mean context in decode: the prompt and, on average, half of the answer."""
    pairs = [
        (each.mean_prompt_tokens + each.mean_output_tokens / 2, each.generated_tokens_per_second)
        for each in engines
        if each.mean_prompt_tokens is not None
        and each.mean_output_tokens is not None
        and each.generated_tokens_per_second
    ]
    return _ratio(
        exact_sum(context * (tokens or 0.0) for context, tokens in pairs),
        exact_sum(tokens for _, tokens in pairs),
    )


def _prefill(engines: tuple[EngineFacts, ...]) -> float | None:
    told = [each for each in engines if each.prompt_tokens_per_second is not None]
    return _ratio(
        exact_sum(each.prompt_tokens_per_second for each in told),
        exact_sum(each.generated_tokens_per_second for each in told),
    )


def _towards(before: float | None, seen: float | None, gain: float) -> float | None:
    if seen is None or not math.isfinite(seen):
        return before
    return seen if before is None else before + gain * (seen - before)


def _ratio(above: float | None, below: float | None) -> float | None:
    if above is None or below is None or below <= 0.0:
        return None
    ratio = above / below
    return ratio if math.isfinite(ratio) else None
