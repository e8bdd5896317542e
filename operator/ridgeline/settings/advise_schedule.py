"""What the engine itself can do by load: its table of lookaheads, or its older switch.

vLLM from 0.24 on takes `num_speculative_tokens_per_batch_size`, rows of first and last number of
requests in a step and the lookahead; 0.8 and 0.9 take `disable_by_batch_size`, above which nothing
is drafted. Which release honours which, and with which methods, is data (`engine_contracts.yaml`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.costmodel.lookahead import Tier
from ridgeline.engine.contract import EngineContract, Honoured
from ridgeline.engine.speculative_config import (
    VLLM_METHOD,
    InvalidSpeculativeConfigError,
    Profile,
)
from ridgeline.engine.spelling_profile import render_for

DISABLE_KEY: Final = "disable_by_batch_size"
_LEAST_QUEUED: Final = 2.0
"""Least value that the key takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InEngine:
    """What a release does by load, without a roll.

    Attributes:
        config: The speculative config with it, as `--speculative-config` takes it; `None` where
            there is nothing to add.
        rows: Rows of the table; empty without one.
        why: Why there is none, or what to know of it.
    """

    config: str | None
    rows: tuple[Tier, ...] = ()
    why: str


def in_engine(
    profile: Profile,
    tiers: Sequence[Tier],
    contract: EngineContract,
    *,
    cutoff: float | None,
    engines: int = 1,
) -> InEngine:
    """Return what a release does by load on a profile.

    Args:
        profile: The profile, whose lookahead is the highest K.
        tiers: The best lookahead by requests in a step; empty where there is none to choose.
        contract: What the release accepts.
        cutoff: Concurrency above which speculation stops paying; `None` without one.
        engines: Engines of one server (data parallelism).
    """
    release = f"vLLM {contract.version}"
    if not profile.method.speculates:
        return InEngine(config=None, why="nothing is drafted")
    method = VLLM_METHOD[profile.method]
    if contract.honours_schedule:
        return _table(profile, tiers, contract, method, engines)
    if contract.disable_by_batch_size is Honoured.WORKS:
        return _switch(profile, cutoff, contract)
    accepted = contract.disable_by_batch_size is Honoured.IGNORED
    ignored = f" (it accepts {DISABLE_KEY} and ignores it)" if accepted else ""
    return InEngine(
        config=None,
        why=f"{release} has no table of lookaheads by load, which 0.24 brought{ignored}: the "
        "profile is all that can change",
    )


def _table(
    profile: Profile,
    tiers: Sequence[Tier],
    contract: EngineContract,
    method: str,
    engines: int,
) -> InEngine:
    release = f"vLLM {contract.version}"
    if method not in contract.schedule_methods:
        takes = ", ".join(sorted(contract.schedule_methods))
        return InEngine(
            config=None, why=f"{release} does not follow its table with {method}, only with {takes}"
        )
    if engines > 1 and not contract.schedule_with_data_parallel:
        return InEngine(config=None, why=f"{release} has no table with several engines per server")
    falling = _falling(tiers)
    if len(falling) < 2:
        only = f" ({falling[0].lookahead})" if falling else ""
        return InEngine(config=None, why=f"one lookahead{only} is best at every load")
    rows = tuple((each.first, each.last, each.lookahead) for each in falling)
    highest = max(each.lookahead for each in falling)
    told = replace(profile, schedule=rows, num_speculative_tokens=highest)
    try:
        config = render_for(told, contract)
    except InvalidSpeculativeConfigError as error:
        return InEngine(config=None, why=str(error))
    idle = falling[-1].lookahead == 0
    return InEngine(
        config=config,
        rows=falling,
        why="a lookahead of 0 keeps the drafter loaded, which costs 7 to 22 % of a step against "
        "the profile without speculation"
        if idle
        else "the drafter is in use at every load",
    )


def _falling(tiers: Sequence[Tier]) -> tuple[Tier, ...]:
    """Return the tiers with each K below the one before: what rises again is left at the lower."""
    found: list[Tier] = []
    for each in tiers:
        if found and each.lookahead >= found[-1].lookahead:
            found[-1] = replace(found[-1], last=each.last)
        else:
            found.append(each)
    return tuple(found)


def _switch(profile: Profile, cutoff: float | None, contract: EngineContract) -> InEngine:
    release = f"vLLM {contract.version}"
    if cutoff is None or cutoff < _LEAST_QUEUED:
        return InEngine(config=None, why=f"{release} has {DISABLE_KEY}, and no cut-off to put in")
    told = replace(profile, extra=(*profile.extra, (DISABLE_KEY, int(cutoff))))
    try:
        config = render_for(told, contract)
    except InvalidSpeculativeConfigError as error:
        return InEngine(config=None, why=str(error))
    return InEngine(
        config=config, why=f"{release} drafts nothing from {int(cutoff)} queued requests on"
    )
