"""Why the operator did what it did: the reasons of decisions, conditions and Events."""

from enum import StrEnum


class Reason(StrEnum):
    """One name per situation; the value is what people see."""

    # Nothing to change.
    BEST_PROFILE_ACTIVE = "BestProfileActive"
    INSIDE_BAND = "InsideBand"
    # A switch.
    ABOVE_CUTOFF = "AboveCutoff"
    BELOW_CUTOFF = "BelowCutoff"
    DEMAND_HIGH = "DemandHigh"
    SATURATED = "Saturated"
    ALL_QUIET = "AllQuiet"
    REGRET = "Regret"
    SCHEDULED = "Scheduled"
    # A switch is wanted and not made yet, or not by us.
    DWELLING = "Dwelling"
    COOLDOWN = "Cooldown"
    DAILY_BUDGET_SPENT = "DailyBudgetSpent"
    OSCILLATION_LOCKED = "OscillationLocked"
    ROLL_WOULD_SATURATE = "RollWouldSaturate"
    RECOMMEND_ONLY = "RecommendOnly"
    SUSPENDED = "Suspended"
    WAITING_FOR_ROLL_BUDGET = "WaitingForRollBudget"
    # The operator cannot see.
    TELEMETRY_UNAVAILABLE = "TelemetryUnavailable"
    NO_DATA = "NoData"
    NOT_FINITE = "NotFinite"
    STALE_DATA = "StaleData"
    PARTIAL_DATA = "PartialData"
    REPLICAS_SETTLING = "ReplicasSettling"
    NO_READY_REPLICAS = "NoReadyReplicas"
    UNKNOWN_TELEMETRY_ENDPOINT = "UnknownTelemetryEndpoint"
    ACCELERATOR_UNKNOWN = "AcceleratorUnknown"
    ACCELERATOR_SHARED = "AcceleratorShared"
    ACCELERATOR_MIXED = "AcceleratorMixed"
    ACCELERATOR_NOT_READABLE = "AcceleratorNotReadable"
    MODEL_UNKNOWN = "ModelUnknown"
    CANNOT_PREDICT = "CannotPredict"
    # The target cannot be changed.
    TARGET_NOT_FOUND = "TargetNotFound"
    TARGET_DELETING = "TargetDeleting"
    TARGET_CONFLICT = "TargetConflict"
    CONTAINER_AMBIGUOUS = "ContainerAmbiguous"
    CONTAINER_NOT_FOUND = "ContainerNotFound"
    INJECTION_POINT_MISSING = "InjectionPointMissing"
    ARGS_NOT_EDITABLE = "ArgsNotEditable"
    ARGS_NOT_ALLOWED = "ArgsNotAllowed"
    SPECULATIVE_CONFIG_INVALID = "SpeculativeConfigInvalid"
    ACTIVE_PROFILE_UNKNOWN = "ActiveProfileUnknown"
    PROFILE_MISMATCH = "ProfileMismatch"
    ROLLOUT_UNDER_WAY = "RolloutUnderWay"
    ROLLOUT_PAUSED = "RolloutPaused"
    ROLLOUT_STALLED = "RolloutStalled"
    FIELD_CONFLICT = "FieldConflict"
    UNDONE_BY_OTHERS = "UndoneByOthers"
    WRITE_REFUSED = "WriteRefused"
    # A roll could not finish well.
    ROLL_STOPS_SERVING = "RollStopsServing"
    ROLL_CANNOT_MOVE = "RollCannotMove"
    NO_ROOM_FOR_SURGE = "NoRoomForSurge"
    DISRUPTION_BUDGET = "DisruptionBudget"
    START_BUDGET_TOO_SHORT = "StartBudgetTooShort"
    DRAIN_TOO_SHORT = "DrainTooShort"
    NO_QUOTA_FOR_SURGE = "NoQuotaForSurge"
    GANG_SCHEDULED = "GangScheduled"
    POD_PROTECTED = "PodProtected"
    SCALING_UNDER_WAY = "ScalingUnderWay"
    TARGET_OWNED_BY_CONTROLLER = "TargetOwnedByController"
    ENGINE_WOULD_REFUSE = "EngineWouldRefuse"
    ENGINE_VERSION_UNKNOWN = "EngineVersionUnknown"
    ENGINE_NOT_VERIFIED = "EngineNotVerified"
    ENGINE_TOO_OLD = "EngineTooOld"
    # New Pods do not start, or do not do what was promised.
    PODS_CRASH = "PodsCrash"
    ENGINE_REFUSES_CONFIG = "EngineRefusesConfig"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    CONTAINER_CANNOT_START = "ContainerCannotStart"
    PODS_UNSCHEDULABLE = "PodsUnschedulable"
    KILLED_BY_PROBE = "KilledByProbe"
    CANARY_BETTER = "CanaryBetter"
    CANARY_ALIKE = "CanaryAlike"
    CANARY_SLOWER = "CanarySlower"
    CANARY_BELOW_PROMISE = "CanaryBelowPromise"
    ANSWERS_DIFFER = "AnswersDiffer"
    WORSE_THAN_PROMISED = "WorseThanPromised"
    # A canary, and the way back.
    CANARY_UNDER_WAY = "CanaryUnderWay"
    CANARY_IMPOSSIBLE = "CanaryImpossible"
    CANARY_NOT_JUDGED = "CanaryNotJudged"
    CANARY_NOT_SERVING = "CanaryNotServing"
    TRIAL = "Trial"
    TRIAL_ENDED = "TrialEnded"
    REQUALIFICATION = "Requalification"
    REQUALIFIED = "Requalified"
    WORSE_THAN_NONE = "WorseThanNone"
    PROOF_STALE = "ProofStale"
    TEMPLATE_CHANGED = "TemplateChanged"
    SPEC_CHANGED = "SpecChanged"
    ROLL_DEADLINE_EXCEEDED = "RollDeadlineExceeded"
    UNDOING = "Undoing"
    ROLLBACK_STALLED = "RollbackStalled"
    PROFILE_QUARANTINED = "ProfileQuarantined"
    # A person's or the operator's standing order.
    FORCED = "Forced"
    FORCED_PROFILE_UNKNOWN = "ForcedProfileUnknown"
    FROZEN = "Frozen"
    FROZEN_BY_SCHEDULE = "FrozenBySchedule"
    SWITCH_ON_FORBIDDEN_BY_SCHEDULE = "SwitchOnForbiddenBySchedule"
    SHORT_CROWD_SCHEDULED = "ShortCrowdScheduled"
    CUTOFF_UNDECIDED = "CutoffUndecided"
    # The serving itself.
    SPEC_INVALID = "SpecInvalid"
    POLICY_NOT_FOUND = "PolicyNotFound"
    SCHEDULE_INVALID = "ScheduleInvalid"
    SCHEDULES_OVERLAP = "SchedulesOverlap"
    TOLD_BY_ANOTHER_VERSION = "ToldByAnotherVersion"
    # What was learned does not hold any more; nothing is changed for it.
    ACCEPTANCE_DRIFTED = "AcceptanceDrifted"
    STEP_TIME_DRIFTED = "StepTimeDrifted"
    # Conditions and Events that report progress.
    RESOLVED = "Resolved"
    SCHEDULES_RESOLVED = "SchedulesResolved"
    FRESH = "Fresh"
    NOT_NEEDED = "NotNeeded"
    OBSERVING = "Observing"
    OPERATING = "Operating"
    NOT_SUSPENDED = "NotSuspended"
    APPLIED = "Applied"
    ROLL_STARTED = "RollStarted"
    ROLL_FINISHED = "RollFinished"
    ROLL_ABANDONED = "RollAbandoned"
    CANARY_STARTED = "CanaryStarted"
    ROLL_UNDONE = "RollUndone"
    ROLL_RESTORED = "RollRestored"
    RECOVERED = "Recovered"


def reason_of(text: object) -> Reason:
    """Read a reason that stands in a status.

    One that this version does not know is no less a reason: what it stands for (a quarantine, a
    switch that counts) must hold under an older operator too.

    Raises:
        ValueError: It is no word at all.
    """
    if not isinstance(text, str) or not text:
        raise ValueError(f"{text!r} is no reason")
    try:
        return Reason(text)
    except ValueError:
        return Reason.TOLD_BY_ANOTHER_VERSION
