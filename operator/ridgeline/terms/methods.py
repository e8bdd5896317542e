"""Speculation methods that a profile can name."""

from enum import StrEnum


class Method(StrEnum):
    """How draft tokens are made; `Disabled` makes none."""

    EAGLE = "Eagle"
    EAGLE3 = "Eagle3"
    DRAFT_MODEL = "DraftModel"
    NGRAM = "NGram"
    MTP = "MTP"
    SUFFIX = "Suffix"
    DISABLED = "Disabled"

    @property
    def speculates(self) -> bool:
        """Whether the server drafts tokens at all."""
        return self is not Method.DISABLED
