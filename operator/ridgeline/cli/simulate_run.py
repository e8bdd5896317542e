"""What `ridgeline simulate` does once its options are read. It needs the extra `simulate`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from ridgeline.cli.cutoff_facts import Stated
from ridgeline.cli.cutoff_flags import FlagError
from ridgeline.cli.simulate_case import CaseError, CaseFlags, Fleet, case_of
from ridgeline.cli.simulate_truth import cutoff_of_flags
from ridgeline.sim.compare.case import Case, RequestSizes, published_case, sizes_of
from ridgeline.sim.compare.load_curve import LoadCurve, TrafficFileError, read_traffic
from ridgeline.sim.compare.play import Told, compare
from ridgeline.sim.compare.scores import Simulated, scores
from ridgeline.sim.compare.setup import Options, SetupError, prepare
from ridgeline.sim.compare.traffic import Shape
from ridgeline.sim.requests.published import FAMILIES
from ridgeline.sim.requests.telemetry import TelemetrySettings
from ridgeline.sim.requests.traffic import MIXES, TICK_SECONDS, SizeMix, Trace
from ridgeline.terms.precision import Precision

T = TypeVar("T")

_LEAST_REQUESTS: Final = 0.01
"""A file with fewer on average has none."""


class CannotSimulateError(Exception):
    """There is nothing to simulate; the message says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options, as `ridgeline simulate --help` tells them."""

    files: tuple[Path, ...]
    serving: str | None
    published: str | None
    model: str | None
    accelerator: str | None
    precision: Precision | None
    profiles: tuple[str, ...]
    acceptance: tuple[str, ...]
    truth: tuple[str, ...]
    stated: Stated
    today: str | None
    fixed_cutoff: int | None
    traffic: str
    mix: str
    load: float | None
    requests_per_second: float | None
    days: float
    replicas: int | None
    surge: bool | None
    starts: tuple[float, float]
    threshold: float | None
    noise: float
    loss: float
    tick: int
    remembers: bool
    single_requests: bool
    seed: int


def run(asked: Asked, told: Told, processes: int) -> Simulated:
    """Simulate what was asked.

    Raises:
        FlagError: An option holds what it must not.
        FilesError: The files do not hold what is needed.
        CannotSimulateError: There is nothing to simulate.
    """
    mix = _named(MIXES, "--requests", asked.mix)
    source = _source(asked.traffic)
    sizes = sizes_of(source, mix)
    try:
        case, fleet = _case(asked, sizes)
        options = _options(asked, mix, source, fleet)
        prepared = prepare(case, options)
    except SetupError as error:
        raise FlagError(str(error)) from error
    except CaseError as error:
        raise CannotSimulateError(str(error)) from error
    outcomes = compare(prepared.play, told, processes)
    return Simulated(
        case=case,
        options=options,
        prepared=prepared,
        outcomes=outcomes,
        scores=scores(outcomes, case.today),
    )


def _source(traffic: str) -> Trace | LoadCurve | None:
    if traffic in set(Shape):
        return None
    path = Path(traffic)
    if not path.suffix and not os.path.exists(path):
        shapes = ", ".join(Shape)
        raise FlagError(f"--traffic {traffic}: give one of {shapes}, or a CSV file")
    try:
        source = read_traffic(path)
    except TrafficFileError as error:
        raise FlagError(f"--traffic: {error}") from error
    _require_arrivals(path, source)
    return source


def _require_arrivals(path: Path, source: Trace | LoadCurve) -> None:
    if isinstance(source, LoadCurve):
        if float(source.requests_per_second.sum()) * TICK_SECONDS < _LEAST_REQUESTS:
            raise CannotSimulateError(
                f"nothing to simulate: every requests_per_second of {path} is 0, or next to it; "
                "give a file in which something arrives"
            )
    elif source.seconds <= 0:
        raise CannotSimulateError(
            f"nothing to simulate: all requests of {path} arrive at one moment "
            f"({len(source.times)} in all); give at least two, at different times"
        )


def _case(asked: Asked, sizes: RequestSizes) -> tuple[Case, Fleet]:
    if asked.published is None:
        return case_of(
            CaseFlags(
                files=asked.files,
                serving=asked.serving,
                model=asked.model,
                accelerator=asked.accelerator,
                precision=asked.precision,
                profiles=asked.profiles,
                acceptance=asked.acceptance,
                truth=asked.truth,
                stated=asked.stated,
                today=asked.today,
                fixed_cutoff=asked.fixed_cutoff,
            ),
            sizes,
        )
    others = {
        "--file": asked.files,
        "--model": asked.model,
        "--accelerator": asked.accelerator,
        "--profile": asked.profiles,
        "--acceptance": asked.acceptance,
        "--today": asked.today,
        "--fixed-cutoff": asked.fixed_cutoff,
        "--tp": asked.stated.tensor_parallel,
        "--max-num-seqs": asked.stated.max_num_seqs,
    }
    given = [name for name, value in others.items() if value]
    if given:
        raise FlagError(f"{given[0]}: --published brings its own: leave out one of the two")
    _named(FAMILIES, "--published", asked.published)
    truth = cutoff_of_flags(asked.truth)
    case = published_case(asked.published, sizes, cutoff_error=1.0 / truth.cutoff - 1.0)
    return case, Fleet()


def _options(asked: Asked, mix: SizeMix, source: Trace | LoadCurve | None, fleet: Fleet) -> Options:
    if asked.tick % 15:
        raise FlagError(f"--tick {asked.tick}: give a multiple of 15")
    surge = fleet.surge if asked.surge is None else int(asked.surge)
    return Options(
        shape=Shape(asked.traffic) if source is None else Shape.DIURNAL,
        source=source,
        mix=mix,
        load=asked.load,
        requests_per_second=asked.requests_per_second,
        seconds=15.0 * round(asked.days * 86_400.0 / 15.0),
        replicas=asked.replicas or fleet.replicas or 4,
        surge=surge or 0,
        starts=asked.starts,
        telemetry=TelemetrySettings(noise=asked.noise, loss=asked.loss),
        tick_seconds=float(asked.tick),
        threshold=asked.threshold,
        remembers=asked.remembers,
        requests=asked.single_requests,
        seed=asked.seed,
    )


def _named(known: Mapping[str, T], option: str, name: str) -> T:
    if name not in known:
        raise FlagError(f"{option} {name}: give one of {', '.join(known)}")
    return known[name]
