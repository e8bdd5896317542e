"""What the operator's configuration says to every pass."""

from dataclasses import dataclass

from ridgeline.terms.parents import ParentKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the operator's configuration says to the reconciler.

    Attributes:
        stale_after_seconds: Samples older than this are not acted on.
        max_concurrent_rolls: Rolls under way at a time, over all servings.
        max_concurrent_rolls_per_pool: Of these, on one type of GPU: their surge Pods want the same
            spare ones.
        frozen: The operator's own freeze switch.
        tick_seconds: How often every serving is looked at.
        parents: Kinds of parents that are written instead of the Deployments that they made.
        remember: Whether a pass keeps what it worked out for the next one, as long as nothing of it
            changes; without, everything is worked out anew, to the same end.
        allow_args: Whether argument lists of containers may be written.
    """

    stale_after_seconds: float
    max_concurrent_rolls: int
    max_concurrent_rolls_per_pool: int = 1
    frozen: bool = False
    tick_seconds: float = 15.0
    parents: frozenset[ParentKind] = frozenset()
    remember: bool = True
    allow_args: bool = False
