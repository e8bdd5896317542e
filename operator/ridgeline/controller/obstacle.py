"""What keeps the operator from acting on a target, whatever the facts of the moment say."""

from typing import Final

from ridgeline.controller.intent import undone_problem
from ridgeline.controller.options import Options
from ridgeline.controller.view import View
from ridgeline.policy.facts import Problem, TargetFacts
from ridgeline.policy.roll import undone_by_others
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason


def obstacle(view: View, target: TargetFacts, options: Options) -> Problem | None:
    """Return why a target is left alone, `None` when it is not.

    Args:
        view: What is known.
        target: The target.
        options: What the operator's configuration says.
    """
    if undone_by_others(view.roll, target, view.serving.generation):
        return undone_problem(view, target)
    if target.in_args and not options.allow_args and _would_act(view):
        return _NOT_ALLOWED
    return None


def _would_act(view: View) -> bool:
    return view.settings.mode is Mode.AUTOMATIC or view.settings.forced is not None


_NOT_ALLOWED: Final = Problem(
    reason=Reason.ARGS_NOT_ALLOWED,
    message="spec.injection.mode is Args, and the operator may not write argument lists: use mode "
    "Env, or have guard.allowArgs: true set in the chart (allowArgs: true in the operator's "
    "configuration)",
)
