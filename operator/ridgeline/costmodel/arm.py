"""A profile as the cost model sees it: how it drafts, with what, and how often it is right."""

import math
from dataclasses import dataclass
from enum import StrEnum

from ridgeline.costmodel.shape import ModelShape
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision


class Origin(StrEnum):
    """Where an acceptance comes from; the first three may be acted on."""

    MEASURED = "Measured"
    """Telemetry of this serving."""
    STATED = "Stated"
    """A person's word."""
    NONE_NEEDED = "NoneNeeded"
    """The profile drafts nothing."""
    PRIOR = "Prior"
    """What the method usually has: a guess, never acted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """How many drafts are right.

    Attributes:
        rates: p_1 … p_K: probability that the first i drafts are all accepted; it never rises.
        hit: Share of request-steps that draft at all (n-gram and suffix: less than 1).
        origin: Where it comes from.
        relative_sd: Standard deviation of the acceptance length, as a share of it.

    Raises:
        ValueError: When a rate is outside 0 to 1, or rises.
    """

    rates: tuple[float, ...]
    hit: float = 1.0
    origin: Origin
    relative_sd: float = 0.0

    def __post_init__(self) -> None:
        """Refuse rates that no draft has."""
        previous = 1.0
        for position, rate in enumerate(self.rates, start=1):
            if not (math.isfinite(rate) and 0.0 <= rate <= previous):
                raise ValueError(
                    f"acceptance of position {position} is {rate}: give 0 to {previous}"
                )
            previous = rate
        if not (math.isfinite(self.hit) and 0.0 <= self.hit <= 1.0):
            raise ValueError(f"hit is {self.hit}: give 0 to 1")
        if not (math.isfinite(self.relative_sd) and self.relative_sd >= 0.0):
            raise ValueError(f"relative_sd is {self.relative_sd}: give 0 or more")

    @property
    def length(self) -> float:
        """Acceptance length E[L] = 1 + hit · Σ p_i: tokens per request-step."""
        return 1.0 + self.hit * math.fsum(self.rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What telemetry taught of one profile's step time.

    Attributes:
        log_scale: ln of observed ÷ modelled step time, 0 while nothing was learned.
        windows: Independent windows that it rests on; 0 for an arm not seen.
    """

    log_scale: float = 0.0
    windows: int = 0

    def __post_init__(self) -> None:
        """Refuse a scale that could not be multiplied with."""
        if not math.isfinite(self.log_scale) or self.windows < 0:
            raise ValueError(f"calibration {self.log_scale} of {self.windows} windows: not finite")

    @property
    def seen(self) -> bool:
        """Whether the profile's own step times were observed here."""
        return self.windows > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """One row of a schedule: the lookahead for a range of requests in a step, both included."""

    first: int
    last: int
    lookahead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One profile.

    Attributes:
        name: Name of the profile.
        method: How drafts are made.
        lookahead: Lookahead K; 0 of a profile that drafts nothing.
        draft: Shape of the head or draft model; `None` where the method has none or it is not
            known (the table then cannot say).
        draft_added_params: Parameters that the draft brings to the GPUs' memory, fewer than a pass
            reads where it shares its target's output matrix; `None` when they are the same.
        draft_precision: Of the draft's weights; `None` for the usual one (16 bits, and that of the
            target for MTP, whose layers are part of it).
        tree_nodes: Nodes of a draft tree that are verified beside the root; `None` for a chain.
        tree_width: Drafts kept alive in parallel by each draft pass (top-k); 1 for a chain.
        acceptance: How often it is right; `None` while nothing is known.
        calibration: What was learned of its step time.
        schedule: The engine's own lookahead by requests in a step, from 1 on without gaps; empty
            for the same lookahead in every step. Behind the last row its lookahead goes on.

    Raises:
        ValueError: When a size is negative, or a schedule does not begin at 1 request and rise.
    """

    name: str
    method: Method
    lookahead: int = 0
    draft: ModelShape | None = None
    draft_added_params: float | None = None
    draft_precision: Precision | None = None
    tree_nodes: int | None = None
    tree_width: int = 1
    acceptance: Acceptance | None = None
    calibration: Calibration = Calibration()
    schedule: tuple[Tier, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a lookahead that no profile has."""
        expected = 1
        for tier in self.schedule:
            if tier.first != expected or tier.last < tier.first or tier.lookahead < 0:
                raise ValueError(f"{self.name}: row {tier} of the schedule: begin at {expected}")
            expected = tier.last + 1
        if self.lookahead < 0:
            raise ValueError(f"{self.name}: lookahead is {self.lookahead}: give 0 or more")
        added = self.draft_added_params
        if added is not None and not (math.isfinite(added) and added >= 0.0):
            raise ValueError(f"{self.name}: draft_added_params is {added}: give 0 or more")
        if self.tree_width < 1 or (self.tree_nodes is not None and self.tree_nodes < 1):
            raise ValueError(f"{self.name}: a tree has at least one node and one branch")
