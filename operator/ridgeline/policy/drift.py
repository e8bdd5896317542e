"""The alarm of drift: acceptance or step time of the active profile is not any more what it was.

A stale draft head (the target was fine-tuned, the head was not) gives no error, only slowness: this
is how it shows. Both signals are compared once for each independent rate window, by
`costmodel.calibration.drifted`:

    acceptance length   with the usual one, a slow mean over about a hundred windows
    step time           with the prediction as corrected by what was learned

    count ← count + 1 when it is outside of its band, else count − 1, within 0 … SEVERAL
    the alarm stands from SEVERAL on, and until 0

It never acts. What is usual follows slowly, so a change that is meant counts as usual after some
hours. Methods that draft only when the text repeats itself have no usual acceptance.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Final

from ridgeline.costmodel.arm import Acceptance, Calibration, Origin
from ridgeline.costmodel.calibration import SETTLED, Drift, Window, drifted
from ridgeline.policy.facts import Problem
from ridgeline.policy.learned import LearnedArm
from ridgeline.policy.wording import number
from ridgeline.terms.conditions import ConditionType
from ridgeline.terms.reasons import Reason

SEVERAL: Final = 5
"""Windows outside of the band, more than inside, after which the alarm stands."""

USUAL_GAIN: Final = 0.01
"""Weight of one window in what is usual: half of a change is usual after 70 windows."""

USUAL_SD: Final = 0.02
"""Relative standard deviation of a usual acceptance length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One signal's alarm: how far it has counted, and whether it stands."""

    count: int = 0
    stands: bool = False

    def after(self, outside: bool) -> "Alarm":
        """Return it after one more window."""
        count = min(SEVERAL, self.count + 1) if outside else max(0, self.count - 1)
        return Alarm(count=count, stands=count >= SEVERAL or (self.stands and count > 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftWatch:
    """What is watched of the active profile; lost with the process, but for whether it stands.

    Attributes:
        profile: The profile; `None` after a start.
        rates: Its usual p_1 … p_K.
        drafted: Its usual share of request-steps that drafted.
        windows: Windows behind both.
        length: Acceptance length of the last window.
        slower: Observed ÷ expected step time of the last window that could be compared.
        acceptance: Alarm of the acceptance.
        step_time: Alarm of the step time.
    """

    profile: str | None = None
    rates: tuple[float, ...] = ()
    drafted: float = 1.0
    windows: int = 0
    length: float | None = None
    slower: float | None = None
    acceptance: Alarm = field(default_factory=Alarm)
    step_time: Alarm = field(default_factory=Alarm)

    @property
    def usual(self) -> Acceptance | None:
        """The usual acceptance, `None` before enough was seen."""
        if not self.rates or self.windows < SETTLED:
            return None
        # A mean of rates that fall falls too, but for the last digit.
        falling = tuple(accumulate(self.rates, min))
        return Acceptance(
            rates=falling, hit=self.drafted, origin=Origin.MEASURED, relative_sd=USUAL_SD
        )

    def problem(self) -> Problem | None:
        """Return what has drifted, acceptance first; `None` while all is as usual."""
        if self.acceptance.stands:
            return Problem(reason=Reason.ACCEPTANCE_DRIFTED, message=self._acceptance_told())
        if self.step_time.stands:
            return Problem(reason=Reason.STEP_TIME_DRIFTED, message=self._step_time_told())
        return None

    def _acceptance_told(self) -> str:
        usual, profile = self.usual, self.profile or "the active profile"
        told = "is not the usual one"
        if usual is not None and self.length is not None:
            told = f"is {number(self.length)}, and {number(usual.length)} is usual here"
        return (
            f"the acceptance length of {profile} {told}: was the model changed, and its draft not? "
            "Nothing is changed for it"
        )

    def _step_time_told(self) -> str:
        profile, told = self.profile or "the active profile", "is not the one learned here"
        if self.slower is not None:
            told = f"is {number(100.0 * self.slower)} % of what was learned here"
        return f"the step time of {profile} {told}. Nothing is changed for it"


def watched(
    watch: DriftWatch, before: LearnedArm, seen: LearnedArm, window: Window | None
) -> DriftWatch:
    """Return the watch after one window.

    Args:
        watch: The watch until now.
        before: What was learned of the active profile before the window.
        seen: Acceptance and drafted share of the window alone; without rates where the profile
            drafts nothing, or drafts only now and then.
        window: Its step time and the modelled one, where concurrency stood still.
    """
    forgotten = before == LearnedArm(profile=before.profile) and watch.windows > 1
    if forgotten or watch.profile not in (None, before.profile):
        watch = DriftWatch()
    if watch.profile is None or len(watch.rates) != len(before.acceptance or seen.acceptance):
        watch = _begun(watch, before)
    return _with_step_time(_with_acceptance(watch, seen), before, window)


def _begun(watch: DriftWatch, before: LearnedArm) -> DriftWatch:
    """Return a watch that takes what status holds for usual."""
    known = bool(before.acceptance)
    return replace(
        watch,
        profile=before.profile,
        rates=before.acceptance,
        drafted=1.0 if before.drafted is None else before.drafted,
        windows=round(1.0 / USUAL_GAIN) if known else 0,
    )


def _with_acceptance(watch: DriftWatch, seen: LearnedArm) -> DriftWatch:
    if not seen.acceptance:
        return watch
    drafted = watch.drafted if seen.drafted is None else seen.drafted
    length = Acceptance(rates=seen.acceptance, hit=drafted, origin=Origin.MEASURED).length
    unlike = drifted(Calibration(), _NO_WINDOW, expected=watch.usual, observed_length=length)
    alarm = watch.acceptance.after(unlike is Drift.ACCEPTANCE)
    gain = max(USUAL_GAIN, 1.0 / (watch.windows + 1))
    same = len(watch.rates) == len(seen.acceptance)
    return replace(
        watch,
        rates=tuple(
            was + gain * (now - was) for was, now in zip(watch.rates, seen.acceptance, strict=True)
        )
        if same
        else seen.acceptance,
        drafted=watch.drafted + gain * (drafted - watch.drafted) if same else drafted,
        windows=watch.windows + 1 if same else 1,
        length=length,
        acceptance=alarm,
    )


_NO_WINDOW: Final = Window(step_seconds=math.nan, modelled_seconds=math.nan)


def _with_step_time(watch: DriftWatch, before: LearnedArm, window: Window | None) -> DriftWatch:
    if window is None:
        return watch
    calibration = Calibration(log_scale=before.log_scale, windows=before.windows)
    unlike = drifted(calibration, window) is Drift.STEP_TIME
    expected = window.modelled_seconds * math.exp(before.log_scale)
    slower = window.step_seconds / expected if expected > 0.0 else None
    return replace(
        watch,
        slower=slower if slower is not None and math.isfinite(slower) else None,
        step_time=watch.step_time.after(unlike),
    )


def watch_of(status: Mapping[str, Any]) -> DriftWatch:
    """Return the watch of a process that starts: an alarm that stands in status goes on."""
    for each in status.get("conditions") or ():
        if each.get("type") == ConditionType.PREDICTION_FITS.value:
            alarm = Alarm(count=SEVERAL, stands=True)
            if each.get("reason") == Reason.ACCEPTANCE_DRIFTED.value:
                return DriftWatch(acceptance=alarm)
            if each.get("reason") == Reason.STEP_TIME_DRIFTED.value:
                return DriftWatch(step_time=alarm)
    return DriftWatch()
