"""From a deployment and a person's options to everything that is played."""

from collections.abc import Iterator
from dataclasses import dataclass

from ridgeline.policy.law.peak import PeakSketch
from ridgeline.sim.compare.case import Case
from ridgeline.sim.compare.load_curve import LoadCurve
from ridgeline.sim.compare.play import Kind, Play, Strategy
from ridgeline.sim.compare.predicted_truth import base_of
from ridgeline.sim.compare.traffic import (
    Shape,
    Traffic,
    demand_of,
    made_up,
    peak_before,
    recorded,
)
from ridgeline.sim.requests.arrays import PLACES
from ridgeline.sim.requests.fleet import RollSettings
from ridgeline.sim.requests.hindsight import STEP_SECONDS, Fluid
from ridgeline.sim.requests.simulate import Setting
from ridgeline.sim.requests.telemetry import TelemetrySettings
from ridgeline.sim.requests.traffic import TICK_SECONDS, SizeMix, Trace

MOST_REQUESTS = 40_000_000
"""Single requests that fit into memory beside their simulation."""


class SetupError(ValueError):
    """Options that do not go together; the message says which, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a person may choose of a comparison.

    Attributes:
        shape: Built-in shape of the traffic; not looked at when there is a file.
        source: What a file tells; `None` for a built-in shape.
        mix: Sizes of requests where no file tells them.
        load: Level as a share of the believed cut-off demand: a weekday's plateau, or a file's
            mean; `None`: a file as it was recorded, else 1.1.
        requests_per_second: The same level in requests per second; `None` when it is not told.
        seconds: Length of a built-in shape.
        replicas: Replicas of the fleet.
        surge: Spare GPUs for a roll, 0 or 1.
        starts: Shortest and longest start of a Pod, in seconds.
        grace_seconds: Time a Pod has to finish its requests.
        telemetry: How well the fleet is seen.
        tick_seconds: How often the operator looks.
        threshold: Concurrency of the script; `None`: the believed cut-off.
        remembers: Whether the operator knows the week before.
        requests: Whether single requests are simulated, in place of a fluid.
        seed: Seed of everything by chance.
    """

    shape: Shape = Shape.DIURNAL
    source: Trace | LoadCurve | None = None
    mix: SizeMix
    load: float | None = None
    requests_per_second: float | None = None
    seconds: float = 7 * 86_400.0
    replicas: int = 4
    surge: int = 0
    starts: tuple[float, float] = (120.0, 300.0)
    grace_seconds: float = 120.0
    telemetry: TelemetrySettings
    tick_seconds: float = 30.0
    threshold: float | None = None
    remembers: bool = True
    requests: bool = False
    seed: int = 1

    @property
    def usual_load(self) -> float:
        """Level of a built-in shape where nobody tells one: a tenth above the cut-off."""
        return 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A play with what it was made from.

    Attributes:
        play: What is played.
        traffic: What arrives.
        cutoff: The believed cut-off, requests in decode per engine.
        cutoff_demand: The same as tokens/s of the fleet.
    """

    play: Play
    traffic: Traffic
    cutoff: float
    cutoff_demand: float


def prepare(case: Case, options: Options) -> Prepared:
    """Return what is played.

    Raises:
        SetupError: The options do not go together.
    """
    _check(options)
    per_replica = case.cutoff_demand()
    demand = options.replicas * per_replica
    traffic = _traffic(options, demand)
    rolls = RollSettings(
        surge=options.surge,
        least_start_seconds=options.starts[0],
        most_start_seconds=options.starts[1],
        grace_seconds=options.grace_seconds,
    )
    setting = Setting(
        truth=case.truth,
        replicas=options.replicas,
        seconds=traffic.seconds,
        first_profile=case.today,
        trace=traffic.trace,
        flow=None if options.requests else traffic.flow,
        rolls=rolls,
        telemetry=options.telemetry,
        tick_seconds=options.tick_seconds,
        seed=options.seed,
    )
    play = Play(
        setting=setting,
        strategies=tuple(_strategies(case, options)),
        peak=peak_before(traffic.before, options.replicas) if options.remembers else PeakSketch(),
        fluid=_fluid(case, options, rolls),
        demand_by_minute=traffic.flow.means(STEP_SECONDS),
    )
    return Prepared(play=play, traffic=traffic, cutoff=case.cutoff(), cutoff_demand=demand)


def _check(options: Options) -> None:
    if options.replicas + options.surge > PLACES:
        raise SetupError(
            f"--replicas {options.replicas}: at most {PLACES - options.surge} are simulated; take "
            "a part of the fleet and the same part of its load"
        )
    if options.load is not None and options.requests_per_second is not None:
        raise SetupError("--load and --requests-per-second tell the same: leave one out")
    if options.starts[0] > options.starts[1]:
        raise SetupError(
            f"a start of {options.starts[0]:g} to {options.starts[1]:g} s: exchange the two"
        )


def _traffic(options: Options, cutoff_demand: float) -> Traffic:
    level = options.load
    if options.requests_per_second is not None:
        mix = options.source.mix(options.mix) if isinstance(options.source, LoadCurve) else None
        output = (mix or options.mix).output
        if isinstance(options.source, Trace):
            output = float(options.source.sizes.outputs.mean())
        level = options.requests_per_second * output / cutoff_demand
    if options.source is not None:
        factor = 1.0 if level is None else level * cutoff_demand / _mean_tokens(options)
        _require_fewer(options, factor)
        return recorded(
            options.source,
            options.mix,
            factor=factor,
            seed=options.seed,
            requests=options.requests,
        )
    level = options.usual_load if level is None else level
    expected = level * cutoff_demand * options.seconds / options.mix.output
    if options.requests and expected > MOST_REQUESTS:
        raise _too_many(expected, "simulate fewer days or replicas")
    return made_up(
        demand_of(options.shape, level, options.seconds),
        options.mix,
        cutoff=cutoff_demand,
        seconds=options.seconds,
        seed=options.seed,
        requests=options.requests,
    )


def _require_fewer(options: Options, factor: float) -> None:
    """Refuse a file of which the single requests would not fit into memory."""
    if isinstance(options.source, Trace):
        expected = len(options.source.times) * factor
    elif options.source is not None and options.requests:
        expected = float(options.source.requests_per_second.sum()) * TICK_SECONDS * factor
    else:
        return
    if expected > MOST_REQUESTS:
        raise _too_many(expected, "give a shorter file or less load")


def _too_many(expected: float, way_out: str) -> SetupError:
    return SetupError(
        f"about {expected / 1e6:,.0f} million requests are more than {MOST_REQUESTS / 1e6:.0f} "
        f"million: {way_out}, or leave out --single-requests"
    )


def _mean_tokens(options: Options) -> float:
    source = options.source
    if isinstance(source, Trace):
        return float(source.sizes.outputs.sum()) / max(source.seconds, 1.0)
    if source is None:
        raise AssertionError("only a file has a mean of its own")
    mean = float(source.requests_per_second.mean()) * source.mix(options.mix).output
    if mean <= 0:
        raise SetupError("nothing arrives in the file: a level cannot be set")
    return mean


def _fluid(case: Case, options: Options, rolls: RollSettings) -> Fluid:
    held = (case.sizes.held_prompt, case.sizes.held_output)
    sizes = {"prompt": case.sizes.prompt, "output": case.sizes.output}
    none = case.sizes.curve(case.truth, case.none)
    drain = 4.0 * case.sizes.output * none.seconds_per_token_at(max(1.0, case.cutoff()))
    return Fluid(
        speeds={each: case.truth.speeds(each, **sizes, held=held) for each in case.profiles},
        replicas=options.replicas,
        surge=options.surge > 0,
        pod_seconds=rolls.mean_seconds(1, drain),
        mean_output=case.sizes.output,
    )


def _strategies(case: Case, options: Options) -> Iterator[Strategy]:
    for profile in sorted(case.profiles, key=lambda each: each != case.today):
        today = profile == case.today
        yield Strategy(
            name=f"stay on {profile}",
            kind=Kind.STATIC,
            first=profile,
            about="what runs today, without ridgeline" if today else "nobody changes it",
        )
    for profile in case.engine_schedules:
        yield Strategy(
            name=profile if base_of(profile) != profile else f"{case.today} with {profile}",
            kind=Kind.SCHEDULE,
            first=profile,
            about="vLLM chooses the lookahead at each step; the drafter stays loaded",
        )
    speculating = [each for each in case.profiles if each != case.none]
    if speculating:
        below = case.today if case.today in speculating else speculating[0]
        at = case.cutoff() if options.threshold is None else options.threshold
        yield Strategy(
            name=f"script at {at:.0f}",
            kind=Kind.THRESHOLD,
            first=below,
            about=f"{case.none} from {at:.0f} requests per engine on, {below} below, no band",
            threshold=(at, below, case.none),
        )
    for variant in case.variants:
        yield Strategy(
            name=f"ridgeline, {variant.name}",
            kind=Kind.OPERATOR,
            first=case.today,
            about=variant.about,
            settings=variant.settings,
            schedules=case.schedules,
        )
