"""Pure: which remarks of a store mean that its answer is not the whole answer.

Stores that ask others (Thanos, a Prometheus with remote read) answer from those that they reached
and say so in `warnings`; VictoriaMetrics' cluster sets `isPartial`. Prometheus also uses `warnings`
for what makes a result doubtful. Informational annotations stand in `infos`, and where a store has
no such field (Thanos hands the engine's on) among its `warnings`, with a prefix of their own.
"""

from collections.abc import Iterable
from typing import Final

INFORMATIONAL: Final = "PromQL info:"
"""How Prometheus's query engine begins an annotation that does not doubt the result."""

_PARTIAL: Final = "the store answered only in part (isPartial): a node of it did not answer"


def partial_remarks(warnings: Iterable[str], *, is_partial: bool = False) -> tuple[str, ...]:
    """The remarks that mean that series or samples may be missing; empty for a whole answer.

    Args:
        warnings: The answer's `warnings`, without its `infos`.
        is_partial: The answer's `isPartial`.
    """
    doubts = tuple(each for each in warnings if not each.lstrip().startswith(INFORMATIONAL))
    return (*doubts, _PARTIAL) if is_partial else doubts
