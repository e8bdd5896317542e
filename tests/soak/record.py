"""What a soak saw, as a dated file that is committed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.soak.measure import Sample, Slope, slope

SEEN: Final = Path(__file__).parent / "seen"

WARM_UP_HOURS: Final = 12.0
"""Histories (ten switches of each serving) and learned values fill up; slopes are from here on."""

MEASURED: Final = (
    "rss_bytes",
    "allocated_blocks",
    "traced_bytes",
    "held_bytes",
    "file_descriptors",
    "tasks",
    "stored_objects",
    "largest_status_bytes",
)


@dataclass(slots=True, kw_only=True)
class Seen:
    """A soak's result.

    Attributes:
        date: When it was run.
        seed: What it was drawn from.
        hours: Simulated hours.
        cpu_seconds: CPU time that it took.
        servings: How many servings there were.
        happenings: How often each thing happened.
        rolls: Rolls that were begun, and put back.
        operators_lost: Operator processes that were killed at a call.
        passes: Passes over a serving that the process which lived all day made.
        writes: Requests that were taken, by kind.
        broken: Promises that were broken; none is the promise.
        samples: What the process which lived all day held, over time.
    """

    date: str
    seed: int
    hours: float
    cpu_seconds: float
    servings: int
    happenings: dict[str, int]
    rolls: dict[str, int]
    operators_lost: int
    passes: int
    writes: dict[str, int]
    broken: list[str]
    samples: list[Sample] = field(default_factory=list)

    def slopes(self) -> dict[str, Slope]:
        """Return how each number grows after the warm-up; none where there are too few looks."""
        late = [each for each in self.samples if each.hour >= min(WARM_UP_HOURS, self.hours / 2)]
        if len(late) < 3:
            return {}
        hours = [each.hour for each in late]
        return {
            name: slope(hours, [float(getattr(each, name)) for each in late]) for name in MEASURED
        }

    @property
    def whole(self) -> bool:
        """Whether nothing was broken, and nothing grows."""
        return not self.broken and all(each.flat for each in self.slopes().values())


def save(seen: Seen, folder: Path = SEEN) -> Path:
    """Write a result under its date and seed; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{seen.date}-seed-{seen.seed}.json"
    slopes = {name: asdict(each) | {"flat": each.flat} for name, each in seen.slopes().items()}
    document = asdict(seen) | {"slopes": slopes}
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


def load(folder: Path = SEEN) -> list[Seen]:
    """Read the results, the oldest first."""
    return [_read(path) for path in sorted(folder.glob("*.json"))]


def _read(path: Path) -> Seen:
    document: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    samples: Sequence[Mapping[str, Any]] = document["samples"]
    rest = {key: value for key, value in document.items() if key not in ("samples", "slopes")}
    return Seen(**rest, samples=[Sample(**each) for each in samples])
