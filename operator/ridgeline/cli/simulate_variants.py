"""Ways to ask the operator in a simulation: as configured, and by each strategy."""

from dataclasses import dataclass, replace
from typing import Final

from ridgeline.api.cutoff import Cutoff
from ridgeline.costmodel.arm import Arm, Calibration, Origin
from ridgeline.costmodel.table import CutoffTable
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.policy.settings import PolicySettings
from ridgeline.settings.cutoffs import RidgeInputs
from ridgeline.settings.goodput import MEASURED_SD, Answer, GoodputInputs
from ridgeline.settings.inherit import ResolvedSpec
from ridgeline.settings.resolve import settings_of
from ridgeline.sim.compare.case import Variant
from ridgeline.terms.modes import Mode, Strategy
from ridgeline.terms.verdict import Verdict

SEEN_WINDOWS: Final = 500
"""Rate windows that each profile is taken to have been seen for: about a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What every way to ask rests on.

    Attributes:
        resolved: The tuning fields.
        configured: Whether a person set them, or they are all defaults.
        profiles: The profiles.
        inputs: What the Goodput strategy rests on.
        told: What the cost model says.
    """

    resolved: ResolvedSpec
    configured: bool
    profiles: tuple[Profile, ...]
    inputs: GoodputInputs
    told: Answer


def variants_of(asking: Asking, fixed_cutoff: int | None) -> tuple[tuple[Variant, ...], str]:
    """Return the ways to ask, the configured one first, and why the first could not be had.

    Args:
        asking: What they rest on.
        fixed_cutoff: Concurrency of a person's own cut-off.
    """
    configured = asking.resolved.cutoff.value
    asked: list[tuple[str, str, Cutoff]] = []
    if asking.configured:
        asked.append((configured.resolved_strategy.value, "as the serving asks", configured))
    for strategy, about in _OTHERS:
        if all(strategy.value != each[0] for each in asked):
            asked.append((strategy.value, about, Cutoff(strategy=strategy)))
    if fixed_cutoff is not None:
        asked.append(_fixed(fixed_cutoff, asking))
    found: list[Variant] = []
    for name, about, cutoff in asked:
        settings = _settings(asking, cutoff)
        if not isinstance(settings.cutoff, Problem):
            found.append(Variant(name=name, about=about, settings=settings))
        elif not found:
            return (), settings.cutoff.message
    return tuple(found), ""


_OTHERS: Final = (
    (Strategy.GOODPUT, "the control law with predicted cut-offs"),
    (Strategy.RIDGE, "cut-offs from the GPU's knee alone, followed by concurrency"),
)


def _fixed(at: int, asking: Asking) -> tuple[str, str, Cutoff]:
    told, profiles = asking.told.cutoff, asking.profiles
    rows = told.rows if isinstance(told, CutoffTable) else ()
    speculating = [each.name for each in profiles if each.method.speculates]
    none = next(each.name for each in profiles if not each.method.speculates)
    below = rows[0].profile if rows and rows[0].profile in speculating else speculating[0]
    ranges = [{"profile": below, "upToConcurrency": at}, {"profile": none}]
    about = f"a person's cut-off at {at}, with the operator's band, dwell and cooldown"
    return f"Fixed {at}", about, Cutoff.model_validate({"strategy": "Fixed", "ranges": ranges})


def _settings(asking: Asking, cutoff: Cutoff) -> PolicySettings:
    """Return what the operator is asked: to act, at once, without canaries."""
    sourced = replace(asking.resolved.cutoff, value=cutoff)
    ridge = RidgeInputs(
        accelerator=asking.inputs.accelerator,
        precision=asking.inputs.precision,
        tensor_parallel=asking.inputs.served.tensor_parallel,
    )
    resolved = replace(asking.resolved, cutoff=sourced)
    settings = settings_of(resolved, asking.profiles, ridge, lambda: asking.told)
    table = settings.cutoff
    if isinstance(table, CutoffTable):
        table, _ = trusted(table)
    return replace(settings, cutoff=table, mode=Mode.AUTOMATIC, suspended=False, rolls=None)


def settled(arm: Arm) -> Arm:
    """Return a profile that telemetry has seen for long: the belief is then what was measured."""
    calibration = Calibration(
        log_scale=arm.calibration.log_scale, windows=max(arm.calibration.windows, SEEN_WINDOWS)
    )
    if arm.acceptance is None or not arm.method.speculates:
        return replace(arm, calibration=calibration)
    measured = replace(arm.acceptance, origin=Origin.MEASURED, relative_sd=MEASURED_SD)
    return replace(arm, calibration=calibration, acceptance=measured)


def is_guess(arm: Arm) -> bool:
    """Tell whether nobody measured or stated a profile's acceptance."""
    return arm.acceptance is not None and arm.acceptance.origin is Origin.PRIOR


def trusted(table: CutoffTable) -> tuple[CutoffTable, tuple[str, ...]]:
    """Return a table that is acted on, and why the operator itself would only recommend."""
    if table.verdict is not Verdict.UNDECIDED:
        return table, ()
    doubts = table.doubts or ("the prediction is undecided",)
    return replace(table, verdict=Verdict.YES, doubts=()), doubts
