"""Whether a serving that was left in peace for long enough is where it says why it is."""

from collections.abc import Iterator
from typing import Final

from ridgeline.terms.names import PROFILE_ENV
from tests.component.controller.world import EAGLE_CONFIG, REPLICAS
from tests.soak.judge import DAY, complete
from tests.soak.stage import Stage

_OPEN: Final = frozenset({"Intended", "Canary", "Rolling", "Undoing"})
_CONTENT: Final = frozenset({"BestProfileActive", "InsideBand"})


LONGEST_ROLL_SECONDS: Final = 2400.0
"""A roll that begins late (a quarantine ended, say) has ended after this."""

TICK: Final = 15.0


async def come_to_rest(stage: Stage, seconds: float) -> list[str]:
    """End every fault, let time pass, and tell what is wrong then."""
    stage.calm()
    await stage.pass_time(seconds, TICK)
    end = stage.cluster.now + LONGEST_ROLL_SECONDS
    while stage.cluster.now < end and any(_rolls(stage, name) for name in stage.plans):
        await stage.pass_time(10 * TICK, TICK)
    return list(wrong_at_rest(stage))


def _rolls(stage: Stage, name: str) -> bool:
    status = stage.cluster.serving(name).status
    open_ = (status.get("rollout") or {}).get("state") in _OPEN
    return open_ or not complete(stage.cluster.deployment(name))


def wrong_at_rest(stage: Stage) -> Iterator[str]:
    """Tell what is wrong with servings that had long enough to come to rest."""
    for name in stage.plans:
        yield from (f"{name} at rest: {each}" for each in _wrong(stage, name))


def _wrong(stage: Stage, name: str) -> Iterator[str]:
    target, serving = stage.cluster.deployment(name), stage.cluster.serving(name)
    status = serving.status
    state = (status.get("rollout") or {}).get("state", "")
    if state in _OPEN:
        yield f"its roll still is {state}: {status.get('rollout')}"
    if target.paused:
        yield "its target is left paused"
    if not complete(target):
        yield f"its target is not complete: {target}"
    if status.get("observedGeneration") != serving.generation:
        yield "its status is not about its present spec"
    told = status.get("lastDecision") or {}
    reason, message = str(told.get("reason", "")), str(told.get("message", ""))
    if not reason or not message:
        yield "it does not say why it does nothing"
    if not _is_explained(stage, name, reason):
        yield (
            f"it runs {stage.config(name) or 'no speculation'} with "
            f"{stage.users[name] / REPLICAS:g} requests per replica and says {reason}: {message}"
        )


def _is_explained(stage: Stage, name: str, reason: str) -> bool:
    """Tell whether what it says is so, as the cluster shows it."""
    serving, plan = stage.cluster.serving(name), stage.plans[name]
    status = serving.status
    match reason:
        case "BestProfileActive" | "InsideBand":
            return not plan.fixed or _runs_what_fits(stage, name)
        case "DailyBudgetSpent":
            bound = int(plan.spec["maxSwitchesPerDay"])
            remembered = len(status.get("switchHistory") or ())
            return remembered >= bound - 1
        case "ProfileQuarantined":
            return bool(status.get("quarantine"))
        case "UndoneByOthers" | "FieldConflict" | "ActiveProfileUnknown" | "InjectionPointMissing":
            return name in stage.judge.by_others
        case "OscillationLocked":
            return stage.judge.begun_within(serving.uid, DAY) > 0
    # The law weighs what a roll costs, and waits with a reason of its own.
    return not plan.fixed and reason in _LAWFUL


_LAWFUL: Final = frozenset(
    {"Dwelling", "Cooldown", "RollWouldSaturate", "Regret", "CutoffUndecided", "DemandHigh"}
)


def _runs_what_fits(stage: Stage, name: str) -> bool:
    level = stage.users[name] / REPLICAS
    runs_eagle = _item(stage, name) == EAGLE_CONFIG
    if 15.5 <= level <= 20.5:
        return True
    return runs_eagle == (level < 18.0)


def _item(stage: Stage, name: str) -> str:
    items = stage.cluster.deployment(name).containers[0].env
    return next((item.value or "" for item in items if item.name == PROFILE_ENV), "")
