"""Names that other systems see: API group, field managers, labels, annotations, the env item."""

from typing import Final

GROUP: Final = "ridgeline.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
SERVING_KIND: Final = "SpeculativeServing"
SERVING_PLURAL: Final = "speculativeservings"
POLICY_KIND: Final = "SpeculationPolicy"
POLICY_PLURAL: Final = "speculationpolicies"
ACCELERATOR_KIND: Final = "AcceleratorProfile"
ACCELERATOR_PLURAL: Final = "acceleratorprofiles"

PROFILE_MANAGER: Final = "ridgeline-profile"
"""Field manager of everything we own in a target."""

STATUS_MANAGER: Final = "ridgeline-status"
"""Field manager of a serving's status."""

EVENT_REPORTER: Final = "ridgeline"

PROFILE_ENV: Final = "SPECULATION_CONFIG"
"""The env item that carries a profile's speculative config; empty means no speculation."""

PROFILE_LABEL: Final = "ridgeline.dev/profile"
"""Pod-template label that names the profile a Pod was started with."""

SERVING_ANNOTATION: Final = "ridgeline.dev/serving"
"""Annotation on the target that names the serving which set its profile."""

FORCE_ANNOTATION: Final = "ridgeline.dev/force-profile"
"""Annotation on a serving by which a person orders a profile, whatever the cut-offs say."""
