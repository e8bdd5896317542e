"""What the engine's own schedule could do for a profile, beside a static K and a roll to none.

A schedule follows the load within milliseconds and keeps the drafter loaded: where it drafts
nothing it pays for that (its K = 0 is dearer than a profile without speculation). Only a roll gets
rid of that price.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

import yaml

from ridgeline.controller.basis import goodput_question
from ridgeline.controller.view import View
from ridgeline.costmodel.arm import Arm, Tier
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.goodput import ArmModel, arm_models
from ridgeline.costmodel.lookahead import WORTH, lookahead_schedule
from ridgeline.costmodel.positions import positions, told
from ridgeline.engine.contract import contract_of
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.policy.wording import number
from ridgeline.settings.advise_schedule import in_engine
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.settings.goodput import Question

Note = tuple[str, str]

_POINTS: Final = 64
"""Concurrencies at which the ways are compared, evenly by their logarithm."""

ROLL: Final = "a roll to none"
SCHEDULE: Final = "the schedule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Concurrencies over which one way is best.

    Attributes:
        first: The lowest.
        last: The highest.
        way: What is best there.
        ahead: Share by which it is ahead of the schedule, at the end where it is most.
    """

    first: float
    last: float
    way: str
    ahead: float


def schedule_notes(view: View, concurrency: float | None) -> tuple[Note, ...]:
    """Return what a schedule would do for each speculating profile, and which drafts do not pay.

    Args:
        view: What is known of the serving.
        concurrency: Requests in decode per engine now, `None` while it is not known.
    """
    version = view.basis.engine_version
    question = goodput_question(view.basis, view.profiles, view.memory.slow.learned)
    if isinstance(question, Problem) or version is None:
        return ()
    contract = contract_of(load_engine_contracts(), version)
    found: list[Note] = []
    for profile, arm in zip(view.profiles, question.arms, strict=True):
        plain = replace(arm, schedule=())
        tiers = lookahead_schedule(question.deployment, plain, question.workload)
        if isinstance(tiers, CannotSay):
            continue
        pays = told(positions(tiers, plain.lookahead))
        found.append((f"draft positions of {profile.name}", f"they pay so far: {pays}"))
        engines = view.basis.served.data_parallel
        without = replace(profile, schedule=None)
        possible = in_engine(without, tiers, contract, cutoff=None, engines=engines)
        about = f"in-engine schedule for {profile.name}"
        if possible.rows:
            found.append((about, _advised(question, plain, possible.rows, concurrency, profile)))
        elif contract.honours_schedule:
            found.append((about, f"none: {possible.why}"))
        else:
            found.append((about, f"none: {possible.why}; only the outer loop, a roll, can help"))
    return tuple(found)


def stretches(
    question: Question, arm: Arm, rows: Sequence[Tier]
) -> tuple[Stretch, ...] | CannotSay:
    """Return which of the static K, the schedule and a roll to none is best at which concurrency.

    Of ways that differ by less than noise the simplest is told: the static K, then the schedule.

    Args:
        question: The serving's facts.
        arm: The profile without its schedule.
        rows: The schedule.
    """
    models = _models(question, arm, rows)
    if isinstance(models, CannotSay):
        return models
    most = max(2.0, min(each.room.max_concurrency for each in models.values()))
    grid = [most ** (each / (_POINTS - 1)) for each in range(_POINTS)]
    ways = [_best(models, each) for each in grid]
    found = []
    for way, group in groupby(zip(grid, ways, strict=True), lambda each: each[1]):
        places = [at for at, _ in group]
        ahead = max(models[way].goodput(at) / models[SCHEDULE].goodput(at) - 1.0 for at in places)
        found.append(Stretch(first=places[0], last=places[-1], way=way, ahead=ahead))
    return tuple(found)


def _models(question: Question, arm: Arm, rows: Sequence[Tier]) -> dict[str, ArmModel] | CannotSay:
    none = next((each for each in question.arms if not each.method.speculates), None)
    if none is None:
        return CannotSay(reason="no profile without speculation", way_out="add one")
    scheduled = replace(arm, schedule=tuple(rows), lookahead=max(each.lookahead for each in rows))
    found: dict[str, ArmModel] = {}
    ways = (_static(arm), SCHEDULE, ROLL)
    models = arm_models(question.deployment, (arm, scheduled, none), question.workload)
    for way, model in zip(ways, models, strict=True):
        if isinstance(model, CannotSay):
            return model
        found[way] = model
    return found


def _static(arm: Arm) -> str:
    return f"a static K of {arm.lookahead}"


def _best(models: dict[str, ArmModel], concurrency: float) -> str:
    rates = {way: model.goodput(concurrency) for way, model in models.items()}
    most = max(rates.values())
    return next(way for way, rate in rates.items() if rate * (1.0 + WORTH) >= most)


def _advised(
    question: Question,
    arm: Arm,
    rows: Sequence[Tier],
    concurrency: float | None,
    profile: Profile,
) -> str:
    lines = [_stanza(rows, profile)]
    best = stretches(question, arm, rows)
    if isinstance(best, CannotSay):
        return f"{lines[0]}\nnot compared: {best}"
    lines.append("best: " + "; ".join(_words(best)))
    if rows[-1].lookahead == 0:
        price = max((each.ahead for each in best if each.way == ROLL), default=0.0)
        lines.append(
            f"from {rows[-1].first} requests on it drafts nothing and keeps the drafter loaded: "
            + (
                f"up to {number(100 * price)} % slower there than {ROLL}"
                if price > 0
                else f"as predicted, no slower there than {ROLL}"
            )
        )
    if concurrency:
        here = min(best, key=lambda each: _distance(each, concurrency))
        lines.append(f"at the present {number(concurrency)} requests: {here.way} is best")
    return "\n".join(lines)


def _distance(stretch: Stretch, concurrency: float) -> float:
    return max(stretch.first - concurrency, concurrency - stretch.last, 0.0)


def _words(best: Sequence[Stretch]) -> Iterator[str]:
    for index, each in enumerate(best):
        last = index == len(best) - 1
        where = (
            "at every load"
            if len(best) == 1
            else f"from {number(each.first)} requests on"
            if last
            else f"up to {number(best[index + 1].first)} requests"
        )
        yield f"{each.way} {where}"


def _stanza(rows: Sequence[Tier], profile: Profile) -> str:
    """Return the fields of the profile, as they are typed into the serving."""
    highest = max(each.lookahead for each in rows)
    fields = {
        "numSpeculativeTokens": highest,
        "schedule": [
            {"fromRequests": each.first, "numSpeculativeTokens": each.lookahead} for each in rows
        ],
    }
    said = f"put into profiles[name={profile.name}]:\n"
    return said + yaml.safe_dump(fields, sort_keys=False, default_flow_style=None).rstrip()
