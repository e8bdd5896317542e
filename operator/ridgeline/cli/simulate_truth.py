"""What is true in a simulation, where it differs from what is believed: `--truth`."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.cli.cutoff_flags import FlagError, acceptance_of_flags
from ridgeline.engine.speculative_config import Profile
from ridgeline.sim.compare.predicted_truth import Differs

_FORM: Final = (
    "write acceptance=0.6, acceptance.PROFILE=0.7,0.5,0.3, step-time=1.1 or step-time.PROFILE=1.2 "
    "(a factor); with --published write cutoff=-20%"
)
_PERCENT: Final = re.compile(r"[+-]?[0-9]{1,3}(?:\.[0-9]{1,3})?%")


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthFlags:
    """What `--truth` says.

    Attributes:
        differs: By profile.
        told: The same as words.
        cutoff: True cut-off ÷ believed one, of a published deployment.
    """

    differs: Differs
    told: tuple[str, ...]
    cutoff: float = 1.0


def truth_of_flags(texts: Sequence[str], profiles: Sequence[Profile]) -> TruthFlags:
    """Return what is true of a model's profiles.

    Raises:
        FlagError: One cannot be read, or no profile has the name.
    """
    acceptance: dict[str, tuple[float, ...]] = {}
    factors: dict[str, float] = {}
    names = [each.name for each in profiles]
    for text in texts:
        what, profile, value = _parts(text)
        if profile and profile not in names:
            raise FlagError(f"--truth {text}: there is no profile {profile!r}: {', '.join(names)}")
        if what == "acceptance":
            written = f"{profile}={value}" if profile else value
            try:
                acceptance.update(acceptance_of_flags([written], profiles))
            except FlagError as error:
                raise FlagError(
                    str(error).replace("--acceptance", "--truth acceptance", 1)
                ) from None
        elif what == "step-time":
            factor = _factor(text, value)
            factors.update({name: factor for name in names if profile in ("", name)})
        else:
            raise FlagError(f"--truth {text}: {what!r} is not known here: {_FORM}")
    return TruthFlags(
        differs=Differs(acceptance=acceptance, step_time=factors),
        told=tuple(texts),
    )


def cutoff_of_flags(texts: Sequence[str]) -> TruthFlags:
    """Return what is true of a published deployment.

    Raises:
        FlagError: It is not a cut-off in per cent.
    """
    cutoff = 1.0
    for text in texts:
        what, profile, value = _parts(text)
        if what != "cutoff" or profile or not _PERCENT.fullmatch(value):
            raise FlagError(
                f"--truth {text}: step times and acceptance of --published are as published: "
                "write cutoff=-20%"
            )
        cutoff = 1.0 + float(value[:-1]) / 100.0
        if not 0.25 <= cutoff <= 4.0:
            raise FlagError(f"--truth {text}: give -75% to +300%")
    return TruthFlags(differs=Differs(), told=tuple(texts), cutoff=cutoff)


def _parts(text: str) -> tuple[str, str, str]:
    name, equals, value = text.partition("=")
    what, _, profile = name.partition(".")
    if not equals or not value:
        raise FlagError(f"--truth {text}: {_FORM}")
    return what, profile, value


def _factor(text: str, value: str) -> float:
    try:
        factor = float(value)
    except ValueError:
        factor = math.nan
    if not (math.isfinite(factor) and 0.1 <= factor <= 10.0):
        raise FlagError(f"--truth {text}: give a factor of 0.1 to 10")
    return factor
