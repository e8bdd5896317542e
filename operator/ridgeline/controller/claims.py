"""Which servings name which Deployment, so that news of a Pod finds who it concerns at once."""

from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.store import Key

_NOBODY: frozenset[Key] = frozenset()


class Claims:
    """An index of servings by their target, kept up to date serving by serving."""

    def __init__(self) -> None:
        self._target_of: dict[Key, Key] = {}
        self._servings_of: dict[Key, set[Key]] = {}

    def of(self, namespace: str, deployment: str) -> frozenset[Key]:
        """Return the servings that name a Deployment as their target."""
        return frozenset(self._servings_of.get((namespace, deployment), _NOBODY))

    def update(self, key: Key, serving: ServingObject | None) -> frozenset[Key]:
        """Take a serving as it is now (`None`: gone); return the servings that it concerns.

        Those are itself and its rivals for the target that it named before and names now.
        """
        before = self._target_of.pop(key, None)
        concerned = set(self._servings_of.get(before, _NOBODY)) if before else set()
        if before is not None:
            claims = self._servings_of[before]
            claims.discard(key)
            if not claims:
                del self._servings_of[before]
        name = (serving.spec.get("targetRef") or {}).get("name") if serving is not None else None
        if name is not None:
            target = (key[0], str(name))
            self._target_of[key] = target
            self._servings_of.setdefault(target, set()).add(key)
            concerned |= self._servings_of[target]
        return frozenset(concerned | {key})
