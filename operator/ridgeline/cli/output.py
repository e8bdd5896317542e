"""How a command's answer is written."""

from enum import StrEnum


class Form(StrEnum):
    """Forms of an answer."""

    TABLE = "table"
    JSON = "json"
