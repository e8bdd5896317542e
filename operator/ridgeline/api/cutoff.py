"""The cut-off of a serving: ranges of concurrency and the profile that is best in each."""

from itertools import pairwise
from typing import Annotated, ClassVar, Final

from pydantic import Field

from ridgeline.api import defaults
from ridgeline.api.fields import ApiModel, Concurrency, DnsLabel, resolved
from ridgeline.api.profiles import MAX_PROFILES
from ridgeline.api.rules import AtomicList, Rule
from ridgeline.terms.modes import Strategy


class CutoffRange(ApiModel):
    """A range of concurrency and the profile that is best in it."""

    profile: DnsLabel = Field(description="Name of one of spec.profiles.")
    up_to_concurrency: Concurrency | None = Field(
        default=None,
        description="Cut-off: at this concurrency (requests in decode per engine, a mean over the "
        "rate window) and above, the next range applies. Every range but the last has one.",
    )
    return_below_concurrency: Concurrency | None = resolved(
        "Lower edge of the band at the cut-off: coming from the next range, this one applies again "
        "below it.",
        unset_means=f"{defaults.RETURN_BELOW_PERCENT} % of upToConcurrency, rounded down, at least "
        "1",
    )

    RULES: ClassVar = (
        Rule["CutoffRange"](
            cel="!has(self.returnBelowConcurrency) || (has(self.upToConcurrency) && "
            "self.returnBelowConcurrency <= self.upToConcurrency)",
            message="set returnBelowConcurrency to at most upToConcurrency, or remove it: without "
            "upToConcurrency there is no band",
            offence=lambda row: (
                row.return_below_concurrency
                if row.return_below_concurrency is not None
                and row.return_below_concurrency > (row.up_to_concurrency or 0)
                else None
            ),
            below=("returnBelowConcurrency",),
        ),
    )

    @property
    def lower_edge(self) -> int | None:
        """Lower edge of the band, with the default put in; `None` in the last range."""
        if self.up_to_concurrency is None:
            return None
        if self.return_below_concurrency is not None:
            return self.return_below_concurrency
        return defaults.return_below(self.up_to_concurrency)


Rows = tuple[CutoffRange, ...]


def _open_ranges_offence(rows: Rows) -> list[str] | None:
    without = [row.profile for row in rows if row.up_to_concurrency is None]
    return None if without == [rows[-1].profile] else without


def _range_out_of_order(rows: Rows) -> int | None:
    cutoffs = [row.up_to_concurrency for row in rows if row.up_to_concurrency is not None]
    pairs = pairwise(cutoffs)
    return next((after for before, after in pairs if after <= before), None)


def _band_that_overlaps(rows: Rows) -> int | None:
    for before, after in pairwise(rows):
        edge, border = after.lower_edge, before.up_to_concurrency
        if edge is not None and border is not None and edge <= border:
            return edge
    return None


def _profile_twice(rows: Rows) -> str | None:
    names = [row.profile for row in rows]
    return next((name for name in names if names.count(name) > 1), None)


_INDEXES: Final = list(range(1, MAX_PROFILES - 1))
"""CEL has no loop over positions; the last of the most ranges has no cut-off to compare."""

_NEIGHBOURS: Final = (
    f"{_INDEXES}.all(i, i >= size(self) || !has(self[i].upToConcurrency) || "
    "!has(self[i - 1].upToConcurrency) || "
)

ONLY_THE_LAST_IS_OPEN: Final = Rule[Rows](
    cel="self.filter(r, !has(r.upToConcurrency)).size() == 1 && "
    "!has(self[size(self) - 1].upToConcurrency)",
    message="list the ranges from the quietest to the busiest: set upToConcurrency in every range "
    "but the last, and not in the last",
    offence=_open_ranges_offence,
)

CUTOFFS_RISE: Final = Rule[Rows](
    cel=_NEIGHBOURS + "self[i - 1].upToConcurrency < self[i].upToConcurrency)",
    message="list the ranges from the quietest to the busiest: raise upToConcurrency above the "
    "one before",
    offence=_range_out_of_order,
)

BANDS_DO_NOT_OVERLAP: Final = Rule[Rows](
    cel=_NEIGHBOURS + "self[i - 1].upToConcurrency < (has(self[i].returnBelowConcurrency) ? "
    "self[i].returnBelowConcurrency : self[i].upToConcurrency * "
    f"{defaults.RETURN_BELOW_PERCENT} / 100))",
    message="two bands overlap: raise returnBelowConcurrency above the upToConcurrency before it "
    f"(when not set it is {defaults.RETURN_BELOW_PERCENT} % of its own upToConcurrency)",
    offence=_band_that_overlaps,
)

A_PROFILE_STANDS_ONCE: Final = Rule[Rows](
    cel="self.all(r, self.exists_one(q, q.profile == r.profile))",
    message="a profile stands in two ranges: name every profile at most once",
    offence=_profile_twice,
)


def _fixed_without_numbers(cutoff: "Cutoff") -> Strategy | None:
    fixed = cutoff.strategy is Strategy.FIXED
    return cutoff.strategy if fixed and not cutoff.ranges and cutoff.preset is None else None


def _numbers_beside_a_prediction(cutoff: "Cutoff") -> Strategy | None:
    predicted = cutoff.strategy in (Strategy.GOODPUT, Strategy.RIDGE)
    return cutoff.strategy if predicted and (cutoff.ranges or cutoff.preset is not None) else None


class Cutoff(ApiModel):
    """Which profile is best at which concurrency."""

    strategy: Strategy | None = resolved(
        "Where the cut-offs come from. Goodput predicts the speed of each profile from the "
        "accelerator, the model, its acceptance and the requests, and learns from telemetry; Ridge "
        "computes them from the accelerator, the precision and each profile's lookahead alone; "
        "Fixed takes them from ranges or from a preset.",
        unset_means=f"{Strategy.FIXED} with ranges or a preset, else {defaults.STRATEGY}",
    )
    preset: DnsLabel | None = Field(
        default=None,
        description="Name of a published operating point, such as h100-bf16: the first profile "
        "that speculates up to its cut-off, the Disabled one from there on.",
    )
    ranges: (
        Annotated[
            Rows,
            Field(min_length=1, max_length=MAX_PROFILES),
            AtomicList(),
            ONLY_THE_LAST_IS_OPEN,
            CUTOFFS_RISE,
            BANDS_DO_NOT_OVERLAP,
            A_PROFILE_STANDS_ONCE,
        ]
        | None
    ) = Field(default=None, description="Ranges of concurrency from the quietest to the busiest.")

    RULES: ClassVar = (
        Rule["Cutoff"](
            cel="!has(self.preset) || !has(self.ranges)",
            message="a preset and ranges are two answers to one question: remove one of them",
            offence=lambda cutoff: cutoff.preset if cutoff.ranges else None,
            below=("preset",),
        ),
        Rule["Cutoff"](
            cel="!has(self.strategy) || self.strategy != 'Fixed' || has(self.ranges) || "
            "has(self.preset)",
            message="Fixed needs numbers: set ranges, or name a preset",
            offence=_fixed_without_numbers,
            below=("strategy",),
        ),
        Rule["Cutoff"](
            cel="!has(self.strategy) || self.strategy == 'Fixed' || "
            "(!has(self.ranges) && !has(self.preset))",
            message="Goodput and Ridge compute the numbers themselves: remove ranges and preset, "
            "or set strategy to Fixed",
            offence=_numbers_beside_a_prediction,
            below=("strategy",),
        ),
    )

    @property
    def resolved_strategy(self) -> Strategy:
        """The strategy in force: as set, or as the other fields imply."""
        if self.strategy is not None:
            return self.strategy
        given = self.ranges is not None or self.preset is not None
        return Strategy.FIXED if given else defaults.STRATEGY

    @property
    def profile_names(self) -> tuple[str, ...]:
        """Names of the profiles that the ranges name; empty without ranges."""
        return tuple(row.profile for row in self.ranges or ())
