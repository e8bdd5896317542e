"""Servings to test with: a good one, and edits of it."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ridgeline.api.rules import Rule
from ridgeline.terms.names import API_VERSION, SERVING_KIND

Spec = dict[str, Any]


def good_spec() -> Spec:
    """Return a spec that sets every field but the lookups of NGram."""
    return {
        "targetRef": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": "llama",
            "containerName": "vllm",
        },
        "mode": "Automatic",
        "suspend": False,
        "profiles": [
            {"name": "eagle", "method": "Eagle", "model": "org/head", "numSpeculativeTokens": 4},
            {"name": "ngram", "method": "NGram", "numSpeculativeTokens": 3},
            {"name": "none", "method": "Disabled"},
        ],
        "cutoff": {
            "strategy": "Fixed",
            "ranges": [
                {"profile": "eagle", "upToConcurrency": 20, "returnBelowConcurrency": 16},
                {"profile": "ngram", "upToConcurrency": 40, "returnBelowConcurrency": 30},
                {"profile": "none"},
            ],
        },
        "stabilization": {"busierSeconds": 30, "quieterSeconds": 300},
        "cooldownSeconds": 900,
        "maxSwitchesPerDay": 4,
        "objective": {"p99TPOTMilliseconds": 80, "prefer": "Latency"},
        "schedules": [
            {
                "name": "office-hours",
                "cron": "0 8 * * MON-FRI",
                "durationSeconds": 36_000,
                "timeZone": "Europe/Berlin",
                "profile": "none",
            },
            {"name": "launch", "cron": "0 9 1 12 *", "durationSeconds": 3600, "freeze": True},
        ],
        "telemetry": "main",
        "policyRef": {"name": "shared"},
        "accelerator": "h100-sxm",
        "model": {"precision": "FP8"},
        "engine": {"version": "0.24.0", "unverified": "Hold"},
        "injection": {"mode": "Env"},
        "conflictPolicy": "Hold",
    }


def body(spec_: Spec, name: str = "llama") -> dict[str, Any]:
    """Return a serving with a spec."""
    return {
        "apiVersion": API_VERSION,
        "kind": SERVING_KIND,
        "metadata": {"name": name},
        "spec": spec_,
    }


def profile(method: str, **settings: object) -> dict[str, Any]:
    return {"name": "p", "method": method, **settings}


def ranges(*rows: tuple[Any, ...]) -> Callable[[Spec], None]:
    """Return an edit that sets the ranges: rows of profile, upTo?, returnBelow?."""
    keys = ("profile", "upToConcurrency", "returnBelowConcurrency")

    def edit(spec_: Spec) -> None:
        spec_["cutoff"]["ranges"] = [
            {key: value for key, value in zip(keys, row, strict=False) if value is not None}
            for row in rows
        ]

    return edit


def first_profile(new: dict[str, Any]) -> Callable[[Spec], None]:
    """Return an edit that puts a profile in the place of the first, cut-off and all."""

    def edit(spec_: Spec) -> None:
        spec_["profiles"][0] = {**new, "name": "eagle"}

    return edit


def profile_list(*items: dict[str, Any]) -> Callable[[Spec], None]:
    """Return an edit that sets the profiles and takes away what names them."""

    def edit(spec_: Spec) -> None:
        spec_["profiles"] = list(items)
        del spec_["cutoff"], spec_["schedules"]

    return edit


def at(*path: Any, value: Any) -> Callable[[Spec], None]:
    """Return an edit that sets one field."""

    def edit(spec_: Spec) -> None:
        here: Any = spec_
        for step in path[:-1]:
            here = here[step]
        here[path[-1]] = value

    return edit


@dataclass(frozen=True)
class Case:
    """An edit of the good spec, and what must come of it."""

    name: str
    edit: Callable[[Spec], None]
    field: str = ""
    rule: Rule[Any] | None = None

    def spec(self) -> Spec:
        edited = copy.deepcopy(good_spec())
        self.edit(edited)
        return edited
