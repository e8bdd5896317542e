"""One engine under a closed loop, in virtual time: exact, and as fast as the machine."""

from dataclasses import dataclass, field
from random import Random

from ridgeline.sim.stand_in.scheduler import Engine, EngineLimits, Generation
from ridgeline.sim.stand_in.speculation import Speculation
from ridgeline.sim.stand_in.step_time import StepTimeModel
from ridgeline.sim.stand_in.telemetry import FinishedRequest, StepReport

ACCEPTANCE = (0.6, 0.55, 0.5, 0.45)


@dataclass
class Record:
    """Everything that the engine reported."""

    steps: list[StepReport] = field(default_factory=list)
    requests: list[FinishedRequest] = field(default_factory=list)
    aborts: int = 0
    preemptions: int = 0

    def step(self, report: StepReport) -> None:
        self.steps.append(report)

    def finished(self, request: FinishedRequest) -> None:
        self.requests.append(request)

    def aborted(self) -> None:
        self.aborts += 1

    def preempted(self, requests: int) -> None:
        self.preemptions += requests

    @property
    def step_latencies_s(self) -> list[float]:
        return [latency for step in self.steps for latency in step.step_latencies_s]

    @property
    def first_tokens(self) -> int:
        return sum(len(step.first_token_times_s) for step in self.steps)

    @property
    def generation_tokens(self) -> int:
        return sum(step.generation_tokens for step in self.steps)


def make_engine(
    record: Record,
    *,
    speculation: Speculation | None = None,
    max_num_seqs: int = 256,
    max_num_batched_tokens: int = 8192,
    kv_tokens: int = 100_000,
    seed: int = 1,
) -> Engine:
    return Engine(
        limits=EngineLimits(
            max_num_seqs=max_num_seqs,
            max_num_batched_tokens=max_num_batched_tokens,
            kv_tokens=kv_tokens,
        ),
        step_time=StepTimeModel(),
        speculation=speculation,
        acceptance=ACCEPTANCE,
        random=Random(seed),
        sink=record,
    )


def eagle(k: int = 4, **more: object) -> Speculation:
    return Speculation(method="eagle", lookahead=k, **more)  # type: ignore[arg-type]


def run_closed_loop(
    engine: Engine, *, users: int, duration_s: float, prompt: int = 32, answer: int = 64
) -> float:
    """Drives ``users`` who send the next request at once; returns the virtual time at the end."""
    now = 0.0

    def send(length: int) -> None:
        def deliver(tokens: int, reason: str | None) -> None:
            if reason is not None:
                send(answer)

        engine.submit(
            Generation(
                prompt_tokens=prompt,
                max_tokens=length,
                stop_after=2**31,
                deliver=deliver,
                arrived=now,
            )
        )

    for user in range(users):
        send(1 + (user * 7) % answer)  # the first answers differ, so that users are out of step
    while now < duration_s:
        plan = engine.plan(now)
        assert plan is not None
        now += plan.duration_s
        engine.complete(plan, now)
    return now
