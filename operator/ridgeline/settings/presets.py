"""Published operating points as ready Fixed cut-offs, by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from ridgeline.costmodel.ridge import Speculation
from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy.facts import Problem
from ridgeline.terms.precision import Precision
from ridgeline.terms.reasons import Reason

DATA_FILE: Final = "data/presets.yaml"

Concurrency = Annotated[int, Field(ge=1)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel)

    name: str
    accelerator: str
    precision: Precision
    cutoff: Concurrency
    lower_edge: Concurrency
    source: str
    as_of: date

    @model_validator(mode="after")
    def _band_is_a_band(self) -> "_Row":
        if self.lower_edge > self.cutoff:
            raise ValueError(f"{self.name}: lowerEdge {self.lower_edge} is above {self.cutoff}")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A published operating point.

    Attributes:
        name: What `spec.cutoff.preset` says.
        accelerator: Name of the GPU that it was published for.
        precision: Precision of the target that it was published for.
        cutoff: Requests in decode per engine from which speculation is off.
        lower_edge: Lower edge of the band at that cut-off.
        source: Who published it.
        as_of: Date on which it was taken from there (ISO 8601).
    """

    name: str
    accelerator: str
    precision: Precision
    cutoff: int
    lower_edge: int
    source: str
    as_of: str


@cache
def load_presets() -> dict[str, Preset]:
    """Return the presets of the data file that comes with the package, by name."""
    text = files("ridgeline.settings").joinpath(DATA_FILE).read_text(encoding="utf-8")
    rows = [_Row.model_validate(each) for each in yaml.safe_load(text)["presets"]]
    return {
        row.name: Preset(**row.model_dump(exclude={"as_of"}), as_of=row.as_of.isoformat())
        for row in rows
    }


def preset_table(name: str, profiles: Sequence[Speculation]) -> CutoffTable | Problem:
    """Return the table of a preset: the first profile that speculates, and the Disabled one.

    Args:
        name: What `spec.cutoff.preset` says.
        profiles: The serving's profiles in a person's order.
    """
    preset = load_presets().get(name)
    if preset is None:
        return Problem(
            reason=Reason.SPEC_INVALID,
            message=f"spec.cutoff.preset: there is no preset {name!r}; use one of "
            f"{', '.join(load_presets())}, or write ranges",
        )
    on = next((each for each in profiles if each.method.speculates), None)
    off = next((each for each in profiles if not each.method.speculates), None)
    if on is None or off is None:
        missing = "that speculates" if on is None else "with method Disabled"
        return Problem(
            reason=Reason.SPEC_INVALID,
            message=f"spec.cutoff.preset {name} needs a profile {missing}: add one to "
            "spec.profiles, or write ranges",
        )
    return CutoffTable(
        (
            CutoffRow(
                profile=on.name,
                up_to=float(preset.cutoff),
                return_below=float(preset.lower_edge),
            ),
            CutoffRow(profile=off.name),
        ),
        reasons=(
            f"preset {name}, published for {preset.accelerator} at {preset.precision.value}: "
            f"{preset.source}",
        ),
    )
