"""Condition types of a serving's status."""

from enum import StrEnum


class ConditionType(StrEnum):
    """Conditions in the shape of `metav1.Condition`; the last two stand only when abnormal."""

    READY = "Ready"
    TARGET_RESOLVED = "TargetResolved"
    TELEMETRY_AVAILABLE = "TelemetryAvailable"
    PROFILE_APPLIED = "ProfileApplied"
    SUSPENDED = "Suspended"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


class ConditionStatus(StrEnum):
    """The three values of a condition's status."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"
