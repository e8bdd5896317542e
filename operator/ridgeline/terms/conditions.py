"""Condition types of a serving's status."""

from enum import StrEnum


class ConditionType(StrEnum):
    """Conditions in the shape of `metav1.Condition`; the last four stand only when abnormal.

    SchedulesValid stands only where there are schedules.
    """

    READY = "Ready"
    TARGET_RESOLVED = "TargetResolved"
    TELEMETRY_AVAILABLE = "TelemetryAvailable"
    PROFILE_APPLIED = "ProfileApplied"
    SUSPENDED = "Suspended"
    SCHEDULES_VALID = "SchedulesValid"
    PREDICTION_FITS = "PredictionFits"
    PROOF_FRESH = "ProofFresh"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"


class ConditionStatus(StrEnum):
    """The three values of a condition's status."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"
