"""Forms of an answer that is a table for people, or one JSON object for programs."""

from enum import StrEnum


class Form(StrEnum):
    """The forms."""

    TABLE = "table"
    JSON = "json"
