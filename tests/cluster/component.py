"""One long-running program of the cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Component:
    """A program, its arguments and the name of its log (`logs/NAME.log`)."""

    name: str
    argv: tuple[str, ...]
