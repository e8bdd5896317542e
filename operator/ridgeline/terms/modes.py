"""Choices that a person makes in a serving."""

from enum import StrEnum


class Mode(StrEnum):
    """Who may change the target: the operator, or nobody (it only recommends)."""

    AUTOMATIC = "Automatic"
    RECOMMEND_ONLY = "RecommendOnly"


class Strategy(StrEnum):
    """Where the cut-offs come from: the cost model, the accelerator's ridge, or a person."""

    GOODPUT = "Goodput"
    FIXED = "Fixed"
    RIDGE = "Ridge"


class InjectionMode(StrEnum):
    """How a profile reaches the server's command line."""

    ENV = "Env"
    """An env item, which the container's arguments read."""
    ARGS = "Args"
    """The argument list itself, with the operator's flag in it."""


class ConflictPolicy(StrEnum):
    """What is done where the profile's place belongs to another field manager."""

    HOLD = "Hold"
    FORCE = "Force"
    """The argument list is taken over; nothing else ever is."""


class UnverifiedEngine(StrEnum):
    """What is done on a release of the engine that the operator does not know."""

    HOLD = "Hold"
    ALLOW = "Allow"
