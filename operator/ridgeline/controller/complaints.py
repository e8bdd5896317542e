"""What was already logged: the same failure of the same thing is told once, not every tick."""

from collections.abc import Hashable


class Complaints:
    """Remembers the last failure of each thing until it works again."""

    def __init__(self) -> None:
        self._told: dict[Hashable, str] = {}

    def is_new(self, about: Hashable, failure: BaseException) -> bool:
        """Tell whether a failure is another one than the last of the same thing; remember it."""
        text = f"{type(failure).__name__}: {failure}"
        known = self._told.get(about) == text
        self._told[about] = text
        return not known

    def ended(self, about: Hashable) -> bool:
        """Tell whether a thing that works now had failed; forget its failure."""
        return self._told.pop(about, None) is not None
