"""What the cut-offs of a serving rest on, and the table as it stands, for an explanation."""

from typing import Any

from ridgeline.controller.basis import Basis, strategy_of
from ridgeline.controller.explain_engine import engine_line
from ridgeline.controller.view import View
from ridgeline.policy.facts import Problem
from ridgeline.policy.roll_notes import looked_into
from ridgeline.terms.modes import Strategy

Line = tuple[str, str]


def basis_lines(view: View) -> tuple[Line, ...]:
    """Return GPU, model, precision, release, strategy, and what is looked into before a roll."""
    basis, table = view.basis, view.settings.cutoff
    lines = [
        ("accelerator", _accelerator(basis)),
        *_model(basis),
        ("precision", f"{basis.precision.value} ({basis.precision_because})"),
        ("tensor parallel", str(basis.tensor_parallel)),
        engine_line(view),
        ("strategy", strategy_of(basis).value),
    ]
    if isinstance(table, Problem):
        return (*lines, ("cut-off", f"none: {table.message}"))
    lines.append(("verdict", table.verdict.value))
    lines += (("because", reason) for reason in table.reasons)
    plan = view.facts.plan
    if plan is not None:
        lines += looked_into(plan)
    return tuple(lines)


def table_rows(view: View) -> tuple[dict[str, Any], ...]:
    """Return the table of the status, or that of this look where the operator has told none."""
    told = view.serving.status.get("cutoffTable")
    if told:
        return tuple(dict(row) for row in told)
    if isinstance(view.settings.cutoff, Problem):
        return ()
    return tuple(
        {"profile": row.profile}
        if row.up_to is None
        else {
            "profile": row.profile,
            "upToConcurrency": row.up_to,
            "returnBelowConcurrency": row.return_below,
        }
        for row in view.settings.cutoff.rows
    )


def _accelerator(basis: Basis) -> str:
    if isinstance(basis.accelerator, Problem):
        return f"not known: {basis.accelerator.message}"
    return f"{basis.accelerator.accelerator.name} (from {basis.accelerator.found_by})"


def _model(basis: Basis) -> tuple[Line, ...]:
    """Return the served model; where no prediction needs it, only if it is known."""
    if not isinstance(basis.model, Problem):
        return (("model", f"{basis.model.shape.name} (from {basis.model.found_by})"),)
    if strategy_of(basis) is Strategy.GOODPUT:
        return (("model", f"not known: {basis.model.message}"),)
    return ()
