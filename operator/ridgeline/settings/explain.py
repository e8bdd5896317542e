"""The resolved settings of a serving in lines, for `kubectl ridgeline explain`."""

from typing import Final

from ridgeline.api.cutoff import Cutoff, CutoffRange
from ridgeline.api.objective import NO_LIMIT
from ridgeline.api.schedules import Schedule
from ridgeline.settings.inherit import ResolvedSpec
from ridgeline.terms.schedules import ScheduleAction


def setting_lines(resolved: ResolvedSpec) -> tuple[tuple[str, str, str], ...]:
    """Return (field, value, source) of every tuning field, in the order of the reference page.

    The source is `serving`, `policy NAME` or `default`.
    """
    cutoff = resolved.cutoff
    seconds = (
        ("stabilization.busierSeconds", resolved.busier_seconds),
        ("stabilization.quieterSeconds", resolved.quieter_seconds),
        ("cooldownSeconds", resolved.cooldown_seconds),
    )
    limit, prefer = resolved.p99_tpot_milliseconds, resolved.prefer
    at_most = NO_LIMIT if limit.value is None else f"{limit.value} ms"
    schedules = resolved.schedules
    switches, telemetry = resolved.max_switches_per_day, resolved.telemetry
    return (
        *((field, value, str(cutoff.source)) for field, value in _cutoff_lines(cutoff.value)),
        *((field, f"{each.value} s", str(each.source)) for field, each in seconds),
        ("maxSwitchesPerDay", str(switches.value), str(switches.source)),
        ("objective.p99TPOTMilliseconds", at_most, str(limit.source)),
        ("objective.prefer", prefer.value.value, str(prefer.source)),
        ("schedules", _schedule_list(schedules.value), str(schedules.source)),
        ("telemetry", telemetry.value, str(telemetry.source)),
    )


ROLLOUT: Final = "rollout."
"""How the fields of a roll begin."""


def all_setting_lines(resolved: ResolvedSpec) -> tuple[tuple[str, str, str], ...]:
    """Return the lines of `setting_lines`, then those of every field of `rollout`."""
    return (*setting_lines(resolved), *_rollout_lines(resolved))


def _rollout_lines(resolved: ResolvedSpec) -> tuple[tuple[str, str, str], ...]:
    rollout = resolved.rollout
    fields = (
        (
            "rollout.deadlineSeconds",
            f"{rollout.deadline_seconds.value} s",
            rollout.deadline_seconds,
        ),
        ("rollout.trial", rollout.trial.value.value, rollout.trial),
        ("rollout.requalify", rollout.requalify.value.value, rollout.requalify),
        ("rollout.canary.when", rollout.canary_when.value.value, rollout.canary_when),
        (
            "rollout.canary.maxReplicas",
            str(rollout.canary_max_replicas.value),
            rollout.canary_max_replicas,
        ),
        (
            "rollout.canary.otherwise",
            rollout.canary_otherwise.value.value,
            rollout.canary_otherwise,
        ),
        ("rollout.canary.onNoTraffic", rollout.on_no_traffic.value.value, rollout.on_no_traffic),
        (
            "rollout.canary.deadlineSeconds",
            f"{rollout.canary_deadline_seconds.value} s",
            rollout.canary_deadline_seconds,
        ),
    )
    return tuple((field, value, str(said.source)) for field, value, said in fields)


def _cutoff_lines(cutoff: Cutoff) -> tuple[tuple[str, str], ...]:
    lines = [("cutoff.strategy", cutoff.resolved_strategy.value)]
    if cutoff.preset is not None:
        lines.append(("cutoff.preset", cutoff.preset))
    if cutoff.ranges is not None:
        lines.append(("cutoff.ranges", "; ".join(map(_range, cutoff.ranges))))
    return tuple(lines)


def _range(row: CutoffRange) -> str:
    if row.up_to_concurrency is None:
        return f"{row.profile} from there on"
    return f"{row.profile} up to {row.up_to_concurrency} (back below {row.lower_edge})"


def _schedule_list(schedules: tuple[Schedule, ...]) -> str:
    return "; ".join(map(_schedule, schedules)) or "none"


def _schedule(schedule: Schedule) -> str:
    asked = {
        ScheduleAction.PROFILE: f"profile {schedule.profile}",
        ScheduleAction.FORBID_SWITCH_ON: "no switching on",
        ScheduleAction.FREEZE: "freeze",
        ScheduleAction.SHORT_CROWD: "short crowd",
    }
    (action,) = schedule.actions
    return (
        f"{schedule.name}: {asked[action]} for {schedule.duration_seconds} s from "
        f"{schedule.cron} {schedule.resolved_time_zone}"
    )
