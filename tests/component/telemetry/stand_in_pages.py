"""Pages of the stand-in server of any version, before and after a load in virtual time."""

from collections.abc import Mapping
from random import Random

from prometheus_client import CollectorRegistry, generate_latest

from ridgeline.sim.stand_in.contract import contract_for
from ridgeline.sim.stand_in.exposition import EngineSeries, Exposition
from ridgeline.sim.stand_in.scheduler import Engine, EngineLimits, Generation
from ridgeline.sim.stand_in.speculation import Speculation
from ridgeline.sim.stand_in.step_time import StepTimeModel

ACCEPTANCE = (0.6, 0.55, 0.5, 0.45)
LOOKAHEAD = 4
USERS = 16
PROMPT_TOKENS, OUTPUT_TOKENS = 32, 64
KV_TOKENS = 1200
"""Fewer than all users' requests need at once: some lose their place."""
_SEED = 6


def stand_in_pages(version: str, seconds: float) -> Mapping[str, str]:
    """Text of the page `before` and `after` so many seconds of a closed loop."""
    registry = CollectorRegistry()
    exposition = Exposition(
        registry,
        contract=contract_for(version),
        model_name="/models/target",
        engines=1,
        max_model_len=1024,
        speculation_lookahead=LOOKAHEAD,
    )
    engine = Engine(
        limits=EngineLimits(max_num_seqs=64, max_num_batched_tokens=2048, kv_tokens=KV_TOKENS),
        step_time=StepTimeModel(),
        speculation=Speculation(method="eagle", lookahead=LOOKAHEAD),
        acceptance=ACCEPTANCE,
        random=Random(_SEED),
        sink=EngineSeries(exposition, 0, random=Random(_SEED)),
    )
    loop = _ClosedLoop(engine)
    loop.run_until(seconds)
    before = generate_latest(registry).decode()
    loop.run_until(2 * seconds)
    return {"before": before, "after": generate_latest(registry).decode()}


class _ClosedLoop:
    """Users who each send the next request when an answer is over."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._now = 0.0
        for user in range(USERS):
            self._send(1 + user * 4)  # the first answers differ, so that users are out of step

    def run_until(self, seconds: float) -> None:
        while self._now < seconds:
            plan = self._engine.plan(self._now)
            assert plan is not None
            self._now += plan.duration_s
            self._engine.complete(plan, self._now)

    def _send(self, length: int) -> None:
        def deliver(tokens: int, reason: str | None) -> None:
            del tokens
            if reason is not None:
                self._send(OUTPUT_TOKENS)

        self._engine.submit(
            Generation(
                prompt_tokens=PROMPT_TOKENS,
                max_tokens=length,
                stop_after=2**31,
                deliver=deliver,
                arrived=self._now,
            )
        )
