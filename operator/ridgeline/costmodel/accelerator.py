"""A GPU as the cost model sees it: memory speed, arithmetic speed, links, and its knee.

One engine step reads the weights once and multiplies them with every token of the batch. With P
weights of b bytes and N tokens the two take

    memory time   P·b ÷ bandwidth
    compute time  2·P·N ÷ peak arithmetic rate

The *knee* is the N at which they are equal: N* = rate·b ÷ (2·bandwidth). Below it the step is bound
by memory and further tokens are nearly free; above it every token costs. Tensor parallelism divides
both times alike, so the knee does not depend on it.
"""

import math
from dataclasses import dataclass
from typing import Final

from ridgeline.terms.links import Link
from ridgeline.terms.precision import Precision

_TERA: Final = 1e12
_GIGA: Final = 1e9

WEIGHT_BYTES: Final[dict[Precision, float]] = {
    Precision.BF16: 2.0,
    Precision.FP8: 1.0,
    Precision.W8A16: 1.0,
    Precision.W4A16: 0.5,
    Precision.FP4: 0.5,
}
"""Bytes of one weight as it lies in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured of a type of GPU with one engine; `None` leaves the model's own constant.

    Attributes:
        bandwidth_share: Share of the data sheet's bandwidth that reading weights reaches.
        compute_share: Share of the data sheet's dense rate that matrix products reach.
        step_seconds: Host time of one engine step.
        draft_pass_seconds: Host and launch time of one draft pass.

    Raises:
        ValueError: A share is not above 0 and at most 1, or a time is out of reason.
    """

    bandwidth_share: float | None = None
    compute_share: float | None = None
    step_seconds: float | None = None
    draft_pass_seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no GPU does."""
        for field, most in (
            ("bandwidth_share", 1.0),
            ("compute_share", 1.0),
            ("step_seconds", 1.0),
            ("draft_pass_seconds", 1.0),
        ):
            value = getattr(self, field)
            if value is not None and not (math.isfinite(value) and 0.0 < value <= most):
                raise ValueError(f"{field} is {value}: give a number above 0, at most {most:g}")

    def told(self) -> dict[str, float]:
        """Return what is known, by the names of the model's constants."""
        names = ("bandwidth_share", "compute_share", "step_seconds", "draft_pass_seconds")
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One type of GPU, undivided: dense rates of its data sheet.

    Attributes:
        name: Its name in the catalogue.
        memory_gib: Memory in GiB.
        bandwidth_gb_s: Memory bandwidth in GB/s (10⁹ bytes).
        bf16_tflops: Dense 16-bit rate in TFLOP/s (FP16 where there is no BF16).
        fp8_tflops: Dense 8-bit floating-point rate, `None` without such units.
        fp4_tflops: Dense 4-bit floating-point rate, `None` without such units.
        link: How the GPUs of one node reach each other.
        link_gb_s: Rate of that link in one direction, GB/s.
        link_span: GPUs that the link joins where they are fewer than a node has (bridges); more
            than that talk over PCIe. `None` when it joins all of them.
        native_fp8: Whether W8A8 FP8 runs on units of its own; without them it runs weight-only.
        consumer: Whether it is a card for desktops.
        source: Where the numbers come from.
        as_of: Date on which they were taken from there (ISO 8601).
        checked: Whether that source was read; `False` for numbers from memory.
        ridge_tokens: Tokens per step up to which speculation pays, when somebody has measured them
            on this GPU; they replace the fraction of the knee, whatever the precision.
        measured: What a calibration measured on this GPU; it replaces the model's constants.

    Raises:
        ValueError: When a number is not finite and positive, or 8-bit units are claimed without
            their rate.
    """

    name: str
    memory_gib: float
    bandwidth_gb_s: float
    bf16_tflops: float
    fp8_tflops: float | None = None
    fp4_tflops: float | None = None
    link: Link
    link_gb_s: float
    link_span: int | None = None
    native_fp8: bool = False
    consumer: bool = False
    source: str
    as_of: str
    checked: bool
    ridge_tokens: float | None = None
    measured: Measured | None = None

    def __post_init__(self) -> None:
        """Refuse numbers from which no finite knee follows."""
        for field in ("memory_gib", "bandwidth_gb_s", "bf16_tflops"):
            _require_positive(self.name, field, getattr(self, field))
        for field in ("fp8_tflops", "fp4_tflops", "ridge_tokens"):
            if getattr(self, field) is not None:
                _require_positive(self.name, field, getattr(self, field))
        if self.link is not Link.NONE:
            _require_positive(self.name, "link_gb_s", self.link_gb_s)
        if self.link_span is not None and self.link_span < 2:
            raise ValueError(f"{self.name}: link_span is {self.link_span}, and must be 2 or more")
        if self.native_fp8 and self.fp8_tflops is None:
            raise ValueError(f"{self.name}: native_fp8 needs fp8_tflops: give the rate")

    def runs_as(self, precision: Precision) -> Precision:
        """Return the precision that the arithmetic really has on this GPU.

        Without units for it, FP8 and FP4 weights are widened to 16 bits before they are used.
        """
        if precision is Precision.FP8 and not self.native_fp8:
            return Precision.W8A16
        if precision is Precision.FP4 and self.fp4_tflops is None:
            return Precision.W4A16
        return precision

    def knee_tokens(self, precision: Precision) -> float:
        """Return the tokens per engine step at which compute time equals memory time.

        W8A8 leaves the knee of 16 bits where it is (twice the rate, half the bytes); weight-only
        precisions lower it to a half or a quarter (the bytes shrink, the rate does not).
        """
        runs_as = self.runs_as(precision)
        rate = self.bf16_tflops
        if runs_as is Precision.FP8 and self.fp8_tflops is not None:
            rate = self.fp8_tflops
        elif runs_as is Precision.FP4 and self.fp4_tflops is not None:
            rate = self.fp4_tflops
        return rate * _TERA * WEIGHT_BYTES[runs_as] / (2.0 * self.bandwidth_gb_s * _GIGA)


_LEAST: Final = 1e-3
_MOST: Final = 1e9
"""Bounds of every number, so far out that only a slip of the pen meets them (and 0, NaN, ∞)."""


def _require_positive(name: str, field: str, value: float) -> None:
    if not (math.isfinite(value) and _LEAST <= value <= _MOST):
        raise ValueError(
            f"{name}: {field} is {value}, and must be a number from {_LEAST:g} to {_MOST:g}"
        )
