"""Edits of a serving's spec that people make, sound ones and broken ones."""

from typing import Any, Final

from tests.component.controller.world import EAGLE_PROFILE, NONE_PROFILE

SOUND: Final[tuple[dict[str, Any], ...]] = (
    {"suspend": True},
    {"suspend": None},
    {"mode": "RecommendOnly"},
    {"mode": "Automatic"},
    {"profiles": [{**EAGLE_PROFILE, "numSpeculativeTokens": 3}, NONE_PROFILE]},
    {"stabilization": {"busierSeconds": 0, "quieterSeconds": 0}},
    {"cooldownSeconds": 600},
    {"rollout": {"canary": {"when": "Always", "deadlineSeconds": 120}, "trial": "Never"}},
    {"onDelete": "Keep"},
)
"""What the API server and the operator take."""

BROKEN: Final[tuple[dict[str, Any], ...]] = (
    {"profiles": [NONE_PROFILE]},
    {"profiles": [EAGLE_PROFILE, EAGLE_PROFILE]},
    {"cutoff": {"strategy": "Fixed", "ranges": [{"profile": "nobody"}]}},
    {"cutoff": {"strategy": "Guess"}},
    {"cooldownSeconds": -1},
    {"telemetry": "nowhere"},
    {"targetRef": {"name": "nobody"}},
    {"targetRef": {"name": "aya"}},
    {"mode": 7},
)
"""What a CRD of another version, or nobody at all, would have let through."""

EDITS: Final = SOUND + BROKEN
