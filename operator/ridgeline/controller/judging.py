"""What is known of the new Pods of a roll: whether they start, and what they show."""

from ridgeline.controller.mind import Mind
from ridgeline.controller.view import View
from ridgeline.policy.roll import Roll
from ridgeline.policy.roll_steps import Watched


def watch_new_pods(view: View, mind: Mind, roll: Roll) -> Watched:
    """Return what is known of the Pods that run the profile of a roll."""
    new = [each for each in view.facts.replicas if each.profile == roll.to_profile]
    return Watched(serving=bool(new))
