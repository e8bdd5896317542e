"""A roll that a serving wants, from its pass until it is granted or held."""

from dataclasses import dataclass

from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.store import Key
from ridgeline.controller.mind import Mind
from ridgeline.controller.view import View
from ridgeline.policy.decision import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a pass saw, remembers and decided."""

    view: View
    mind: Mind
    decision: Decision

    @property
    def key(self) -> Key:
        """The serving."""
        return self.view.serving.namespace, self.view.serving.name

    def outdated_by(self, serving: ServingObject | None) -> bool:
        """Tell whether the serving as it is now is another one than was decided about."""
        decided = self.view.serving
        if serving is None or serving.deleting:
            return True
        return (serving.uid, serving.generation) != (decided.uid, decided.generation)
