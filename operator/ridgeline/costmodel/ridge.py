"""The Ridge strategy: speculation pays while a step stays well below the accelerator's knee.

With lookahead K every request brings K+1 tokens into the target's step. The rule:

    speculate while   B·(K+1) < R,     so the cut-off is   B* = R ÷ (K+1)
    R = 120 tokens on H100 SXM at 16 bits, and the same fraction of the knee elsewhere

R is a published operating point, not a break-even: it knows neither acceptance nor what a draft
costs nor how long the contexts are, and it gives speculation up early (docs/concepts/cutoffs.md).
What the hardware alone says against a method comes from `suitability`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.suitability import judge
from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision
from ridgeline.terms.verdict import Verdict

PUBLISHED_TOKENS: Final = 120.0
"""Tokens per step on H100 at 16 bits: the lower end of the advised 120 to 160, K=5 at 20 users."""

H100_KNEE_TOKENS: Final = 989.0 * 1e12 * 2.0 / (2.0 * 3350.0 * 1e9)
"""Knee of H100 SXM at 16 bits (989 TFLOP/s, 3.35 TB/s): 295.2 tokens."""

RIDGE_FRACTION: Final = PUBLISHED_TOKENS / H100_KNEE_TOKENS
"""R as a fraction of the knee: 0.4065, quoted as 0.41.

The fraction follows from the 120 and not the other way round, so H100 gives 120 exactly, where 0.41
of 295 would give 121.
"""

LOWER_EDGE: Final = 0.8
"""Lower edge of a band as a fraction of its cut-off: 16 below a cut-off of 20, as published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """A profile as this rule sees it.

    Attributes:
        name: The profile's name.
        method: How drafts are made.
        lookahead: Lookahead K; `None` where the method has no fixed one.
    """

    name: str
    method: Method
    lookahead: int | None = None


@dataclass(frozen=True, slots=True)
class _Offer:
    """A profile that speculates, and the concurrency per engine from which it no longer pays."""

    profile: Speculation
    cutoff: float


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Which profiles take part, why others do not, and whether anything is in doubt."""

    offers: tuple[_Offer, ...]
    reasons: tuple[str, ...]
    in_doubt: bool


def ridge_tokens(accelerator: Accelerator, precision: Precision) -> float:
    """Return R: the tokens per engine step up to which speculation pays."""
    if accelerator.ridge_tokens is not None:
        return accelerator.ridge_tokens
    return PUBLISHED_TOKENS * (accelerator.knee_tokens(precision) / H100_KNEE_TOKENS)


def ridge_table(
    profiles: Sequence[Speculation],
    accelerator: Accelerator,
    *,
    precision: Precision,
    tensor_parallel: int,
) -> CutoffTable:
    """Return the cut-off table of the Ridge rule, in requests in decode per engine.

    Args:
        profiles: The serving's profiles in a person's order; the first Disabled one is the row for
            the busiest range. Of profiles that the rule cannot tell apart one is kept.
        accelerator: The GPU, undivided.
        precision: Of the target model.
        tensor_parallel: GPUs that one engine spans.

    Raises:
        ValueError: When there is no profile, two have one name, a lookahead is not positive, or
            tensor_parallel is less than 1.
    """
    _check(profiles, tensor_parallel)
    tokens = ridge_tokens(accelerator, precision)
    off = next((each for each in profiles if not each.method.speculates), None)
    sized = _size(profiles, tokens)
    suited = _suit(sized.offers, accelerator, tensor_parallel)
    kept, left_out = _apart(suited.offers)
    rows = _rows(kept, (off or profiles[0]).name, closed=off is not None)
    in_doubt = sized.in_doubt or suited.in_doubt or off is None
    return CutoffTable(
        rows,
        verdict=_verdict(kept, in_doubt=in_doubt),
        reasons=(
            _basis(accelerator, precision, tokens),
            *_without_units(accelerator, precision),
            *sized.reasons,
            *suited.reasons,
            *left_out,
            *_borders(kept, tokens),
            *_without_off(profiles, off),
        ),
    )


def _check(profiles: Sequence[Speculation], tensor_parallel: int) -> None:
    names = [each.name for each in profiles]
    if not names:
        raise ValueError("the Ridge rule needs at least one profile")
    if len(set(names)) != len(names):
        raise ValueError(f"two profiles have one name: {names}")
    for each in profiles:
        if each.lookahead is not None and each.lookahead < 1:
            raise ValueError(
                f"profile {each.name!r} has lookahead {each.lookahead}: give 1 or more"
            )
    if tensor_parallel < 1:
        raise ValueError(f"tensor_parallel is {tensor_parallel}: give 1 or more")


def _size(profiles: Iterable[Speculation], tokens: float) -> _Sorted:
    """Give every profile with a fixed lookahead its cut-off."""
    offers, reasons, in_doubt = [], [], False
    for each in profiles:
        if not each.method.speculates:
            continue
        if each.method is Method.SUFFIX or each.lookahead is None:
            in_doubt = True
            reasons.append(
                f"{each.name} ({each.method.value}) has no fixed lookahead, so tokens per step are "
                "not known beforehand and the rule leaves it out: give it a row with Fixed ranges"
            )
            continue
        cutoff = tokens / (each.lookahead + 1)
        if cutoff <= 1.0:
            reasons.append(
                f"{each.name} (K={each.lookahead}): a single request already brings "
                f"{each.lookahead + 1} of {number(tokens)} tokens, so it never pays: lower K"
            )
            continue
        offers.append(_Offer(each, cutoff))
    return _Sorted(tuple(offers), tuple(reasons), in_doubt)


def _suit(offers: Iterable[_Offer], accelerator: Accelerator, tensor_parallel: int) -> _Sorted:
    """Leave out what the hardware forbids."""
    kept, reasons, in_doubt = [], [], False
    for offer in offers:
        judgement = judge(offer.profile.method, accelerator, tensor_parallel)
        if judgement.because and judgement.because not in reasons:
            reasons.append(judgement.because)
        in_doubt |= judgement.verdict is Verdict.UNDECIDED
        if judgement.verdict is not Verdict.NO:
            kept.append(offer)
    return _Sorted(tuple(kept), tuple(reasons), in_doubt)


def _apart(offers: Sequence[_Offer]) -> tuple[tuple[_Offer, ...], tuple[str, ...]]:
    """Keep profiles whose cut-offs lie more than a band apart, from the highest down.

    A narrower range would be left and entered again within one band: rolls for nothing. Of equal
    ones the profile that stands first is kept, of unequal ones the one that lasts longer.
    """
    kept: list[_Offer] = []
    reasons: list[str] = []
    # Stable, so that among equals the first of the serving comes first.
    for offer in sorted(offers, key=lambda each: -each.cutoff):
        above = kept[-1] if kept else None
        if above is None or offer.cutoff < LOWER_EDGE * above.cutoff:
            kept.append(offer)
        elif offer.cutoff == above.cutoff:
            reasons.append(
                f"{offer.profile.name} and {above.profile.name} have the same lookahead and so the "
                f"same cut-off; {above.profile.name} stands first and is taken: the rule does not "
                "know which drafts better"
            )
        else:
            reasons.append(
                f"{offer.profile.name} (up to {number(offer.cutoff)}) lies within the band of "
                f"{above.profile.name} (up to {number(above.cutoff)}), which is taken for both: a "
                "range that narrow is not worth a roll"
            )
    return tuple(reversed(kept)), tuple(reasons)


def _rows(kept: Sequence[_Offer], last: str, *, closed: bool) -> tuple[CutoffRow, ...]:
    """Return the rows; without a Disabled profile the last range stays open."""
    bordered = kept if closed else kept[:-1]
    rows = [
        CutoffRow(
            profile=offer.profile.name,
            up_to=offer.cutoff,
            return_below=LOWER_EDGE * offer.cutoff,
        )
        for offer in bordered
    ]
    return (*rows, CutoffRow(profile=last if closed or not kept else kept[-1].profile.name))


def _verdict(kept: Sequence[_Offer], *, in_doubt: bool) -> Verdict:
    if in_doubt:
        return Verdict.UNDECIDED
    return Verdict.YES if kept else Verdict.NO


def _basis(accelerator: Accelerator, precision: Precision, tokens: float) -> str:
    at = f"{accelerator.name} at {precision.value}"
    if accelerator.ridge_tokens is not None:
        return (
            f"speculation pays below {number(tokens)} tokens per step on {at}: set for this GPU "
            "by ridge_tokens, in place of a fraction of its knee"
        )
    knee = accelerator.knee_tokens(precision)
    return (
        f"speculation pays below {number(tokens)} tokens per step on {at}: "
        f"{RIDGE_FRACTION:.2f} of its knee of {number(knee)}"
    )


def _without_units(accelerator: Accelerator, precision: Precision) -> tuple[str, ...]:
    runs_as = accelerator.runs_as(precision)
    if runs_as is precision:
        return ()
    return (
        f"{accelerator.name} has no units for {precision.value} and computes it as "
        f"{runs_as.value}, which lowers the knee",
    )


def _borders(kept: Iterable[_Offer], tokens: float) -> tuple[str, ...]:
    return tuple(
        f"{offer.profile.name}: {number(tokens)} tokens ÷ (K={offer.profile.lookahead} + 1) = "
        f"{number(offer.cutoff)} requests"
        for offer in kept
    )


def _without_off(profiles: Sequence[Speculation], off: Speculation | None) -> tuple[str, ...]:
    if off is None:
        return ("no profile has method Disabled, so there is nothing to switch to above: add one",)
    if not any(each.method.speculates for each in profiles):
        return ("no profile of the serving speculates: add one",)
    return ()


def number(value: float) -> str:
    """Return a number as people read it: three digits, no exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
