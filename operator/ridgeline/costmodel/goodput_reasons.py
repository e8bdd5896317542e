"""What a predicted table rests on, in words for a person."""

from collections.abc import Sequence

from ridgeline.costmodel.border import Edges
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput import ArmModel
from ridgeline.costmodel.ridge import number
from ridgeline.costmodel.table import upper_edge
from ridgeline.costmodel.workload import Workload


def basis(deployment: Deployment, workload: Workload, models: Sequence[ArmModel]) -> str:
    """Return what was predicted, and on what."""
    gpus = deployment.tensor_parallel * deployment.pipeline_parallel
    where = deployment.accelerator.name if gpus == 1 else f"{gpus} × {deployment.accelerator.name}"
    seen = [each.arm.name for each in models if each.arm.calibration.seen]
    learned = f"; step times of {', '.join(seen)} were observed here" if seen else ""
    return (
        f"predicted for {deployment.model.name} at {deployment.precision.value} on {where} with "
        f"contexts of {workload.context_tokens:.0f} tokens{learned}"
    )


def border(below: ArmModel, above: ArmModel, edges: Edges, *, quiet: float, lead: float) -> str:
    """Return where a profile gives way to the next, and what ends it.

    Args:
        below: The profile.
        above: The next.
        edges: The border.
        quiet: Goodput of the profile over that of the next at the quietest point.
        lead: The same at the border.
    """
    cutoff = edges.cutoff
    one, other = below.step_at(cutoff), above.step_at(cutoff)
    lengths = one.length / other.length
    quietly = below.step_at(1.0).length / above.step_at(1.0).length
    admitted = max(below.room.max_concurrency, above.room.max_concurrency)
    high = upper_edge(edges.high, admitted, number)
    return (
        f"{below.arm.name} up to {number(cutoff)} requests per engine "
        f"({number(edges.low)} to {high}), then {above.arm.name}: it yields "
        f"{one.length:.2f} tokens a step against {other.length:.2f}, in a step that "
        f"takes {quietly / quiet:.2f} times as long when quiet and {lengths / lead:.2f} times at "
        f"{number(cutoff)}, {_ends(below, above, cutoff)}"
    )


def last_row(last: ArmModel, none: ArmModel, points: Sequence[float], *, alone: bool) -> str:
    """Return what holds up to the most that the engine admits."""
    room = last.room
    by = "KV memory" if room.by_memory else "the engine's limit of requests"
    if last is not none:
        return (
            f"{last.arm.name} is best up to the {_requests(room.max_concurrency)} that {by} admits"
        )
    if alone:
        return "no profile that speculates wins by the margin at any concurrency"
    return f"{none.arm.name} above, up to the {_requests(points[-1])} admitted"


def _requests(most: float) -> str:
    """So many requests in words; a number that rounds to 1 is one of them."""
    count = number(most)
    return "1 request" if count == "1" else f"{count} requests"


def narrow(lost: str, kept: str) -> str:
    """Return why a profile lost its range to its neighbour."""
    return (
        f"the range of {lost} lies within the band of a border next to it and goes to {kept}: a "
        "range that narrow is not worth a roll"
    )


def torn(name: str, *, off: bool) -> str:
    """Return why one of two ranges of a profile is missing."""
    if off:
        return (
            f"{name} is best in two ranges apart; it keeps the busiest, since a profile stands in "
            "one row and off at saturation is the safe side"
        )
    return (
        f"{name} is best in two ranges apart and keeps one of them, since a profile stands in one "
        "row"
    )


def beaten(name: str, margin: float) -> str:
    """Return why a profile has no row."""
    return f"{name} wins nowhere by {margin:.0%}, and has no row"


def never_sure(name: str) -> str:
    """Return that a gain is smaller than its error."""
    return (
        f"what {name} is predicted to gain is within the error of the prediction at every "
        "concurrency: compare both profiles here"
    )


def flat(name: str) -> str:
    """Return that a cut-off has no upper edge."""
    return (
        f"the gain of {name} falls so slowly that its cut-off has no upper edge: the band is "
        "unbounded until both profiles were seen"
    )


def loses(name: str, ratio: float, concurrency: float) -> str:
    """Say that a range which a profile was given holds a loss."""
    return (
        f"{name}: at {number(concurrency)} requests it is predicted to yield {number(ratio)} times "
        "what none yields, though its range holds that too: compare both profiles"
    )


def only_when_busy(name: str) -> str:
    """Say that a profile is predicted to pay on busy servers and not on quiet ones."""
    return (
        f"{name}: it is predicted to pay only when the servers are busy, which rests on weak "
        "constants (steps above the captured size): compare both profiles"
    )


def perhaps(name: str) -> str:
    """Return that a loss is smaller than its error."""
    return f"{name} may pay after all: its predicted loss is within the error of the prediction"


def _ends(below: ArmModel, above: ArmModel, concurrency: float) -> str:
    """Return the largest thing that a profile pays for at its cut-off."""
    held = below.room.max_concurrency
    if held < concurrency and held < above.room.max_concurrency:
        return (
            f"and its draft leaves KV memory for {number(held)} requests, where the other has "
            f"{number(above.room.max_concurrency)}"
        )
    one = below.step_at(concurrency).parts(concurrency)
    other = above.step_at(concurrency).parts(concurrency)
    costs = {
        "arithmetic on the drafts that are verified": one.compute - other.compute,
        "drafting": one.draft - other.draft,
        "reading more weights (experts)": one.memory - other.memory,
        "exchange between GPUs": one.all_reduce - other.all_reduce,
        "steps above the captured size": one.eager - other.eager,
        "a drafter that is loaded and idle": one.price - other.price,
    }
    most = max(costs, key=lambda each: costs[each])
    return f"mostly for {most}" if costs[most] > 0 else "less than the other takes"
