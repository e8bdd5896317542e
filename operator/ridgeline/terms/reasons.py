"""Why the operator did what it did: the reasons of decisions, conditions and Events.

Every reason has a meaning (what was seen) and a way out (what a person can do). Both stand here
once; the reference page of the docs is made from them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


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


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a reason means and what a person can do about it."""

    meaning: str
    way_out: str


_NOTHING: Final = "Nothing to do."

EXPLANATIONS: Final[dict[Reason, Explanation]] = {
    Reason.BEST_PROFILE_ACTIVE: Explanation(
        "The target already runs the profile that the cut-off table asks for.", _NOTHING
    ),
    Reason.INSIDE_BAND: Explanation(
        "Concurrency lies inside the band between two profiles; the active one stays.", _NOTHING
    ),
    Reason.ABOVE_CUTOFF: Explanation(
        "Concurrency stayed at or above a cut-off, so a busier row of the table applies.", _NOTHING
    ),
    Reason.BELOW_CUTOFF: Explanation(
        "Concurrency stayed below the band's lower edge, so a quieter row applies.", _NOTHING
    ),
    Reason.SCHEDULED: Explanation(
        "A window of spec.schedules asks for the profile, or begins before a roll would end.",
        _NOTHING,
    ),
    Reason.DEMAND_HIGH: Explanation(
        "Demand stayed above what a roll can be begun at: the profile for more of it is put in "
        "while there is still room.",
        _NOTHING,
    ),
    Reason.SATURATED: Explanation(
        "Requests wait for capacity, or lose their place: the profile for more demand is put in.",
        _NOTHING,
    ),
    Reason.ALL_QUIET: Explanation(
        "Demand and concurrency stayed low and nothing waits: the profile for less demand is put "
        "in.",
        _NOTHING,
    ),
    Reason.REGRET: Explanation(
        "Staying on the profile has cost more than half of what a roll costs, in request-seconds.",
        _NOTHING,
    ),
    Reason.OSCILLATION_LOCKED: Explanation(
        "The opposite decision was made at the same load a short while ago: switching on is "
        "locked for six hours (and needs a lower load from then on, where cut-offs are predicted).",
        "The cut-off may be wrong: compare both profiles. Where it is predicted, set spec.cutoff "
        "with strategy Fixed; else widen the band (returnBelowConcurrency).",
    ),
    Reason.ROLL_WOULD_SATURATE: Explanation(
        "Some phase of the roll could not carry the demand, with a replica out and both profiles "
        "mixed.",
        "Wait for less load, or let the Deployment surge (maxSurge 1, a spare GPU) so that no "
        "replica goes before its successor is ready.",
    ),
    Reason.DWELLING: Explanation(
        "Concurrency has crossed a border, but not yet for spec.stabilization.",
        "Wait, or shorten spec.stabilization.",
    ),
    Reason.COOLDOWN: Explanation(
        "The last roll ended less than spec.cooldownSeconds ago; it binds switching on.",
        "Wait, or shorten spec.cooldownSeconds.",
    ),
    Reason.DAILY_BUDGET_SPENT: Explanation(
        "spec.maxSwitchesPerDay was used up in the last 24 hours (the last one is kept for off).",
        "Wait, widen the band, or raise spec.maxSwitchesPerDay.",
    ),
    Reason.RECOMMEND_ONLY: Explanation(
        "Another profile would be better, but spec.mode is RecommendOnly.",
        "Set spec.mode to Automatic to let the operator roll the target.",
    ),
    Reason.SUSPENDED: Explanation(
        "spec.suspend is true: nothing is changed.", "Set spec.suspend to false."
    ),
    Reason.WAITING_FOR_ROLL_BUDGET: Explanation(
        "Other servings are rolling; maxConcurrentRolls of the operator's configuration is used.",
        "Wait, or raise maxConcurrentRolls.",
    ),
    Reason.TELEMETRY_UNAVAILABLE: Explanation(
        "The telemetry endpoint does not answer, or answers with an error.",
        "Check the address and credentials of the endpoint in the operator's configuration.",
    ),
    Reason.NO_DATA: Explanation(
        "The telemetry endpoint answers, but has no samples of this target's Pods.",
        "Check that Prometheus scrapes the Pods and that vLLM runs without --disable-log-stats.",
    ),
    Reason.NOT_FINITE: Explanation(
        "A number that the decision needs is NaN or infinite.",
        "Look at the query in the message; the operator holds until the number is finite.",
    ),
    Reason.STALE_DATA: Explanation(
        "The newest sample of the target's Pods is too old to act on.",
        "Check Prometheus's scrape interval and its targets page.",
    ),
    Reason.PARTIAL_DATA: Explanation(
        "Some Ready Pods or engines have no samples (switching on needs all, off needs 80 %).",
        "Check that every Pod of the target is scraped.",
    ),
    Reason.REPLICAS_SETTLING: Explanation(
        "The Pods have been Ready for less than the rate window.", "Wait for one window."
    ),
    Reason.NO_READY_REPLICAS: Explanation(
        "The target has no Ready Pod.", "Scale the target up, or look at why its Pods fail."
    ),
    Reason.UNKNOWN_TELEMETRY_ENDPOINT: Explanation(
        "spec.telemetry names an endpoint that the operator's configuration does not define.",
        "Use a name that the message lists, or add the endpoint to the configuration.",
    ),
    Reason.ACCELERATOR_UNKNOWN: Explanation(
        "The labels of the target's nodes, or spec.accelerator, name no GPU of the catalogue.",
        "Set spec.accelerator to a name of the catalogue, or add an AcceleratorProfile.",
    ),
    Reason.ACCELERATOR_SHARED: Explanation(
        "The target's GPUs are shared or sliced; a part has not the figures of the whole.",
        "Describe the part in an AcceleratorProfile, and name it in spec.accelerator.",
    ),
    Reason.MODEL_UNKNOWN: Explanation(
        "The Goodput strategy does not know the shape of the served model.",
        "Set spec.model.name to a model of the catalogue of the same shape, or spec.model.shape "
        "from its config.json; or set spec.cutoff.strategy to Ridge or Fixed.",
    ),
    Reason.CANNOT_PREDICT: Explanation(
        "The Goodput strategy lacks a fact without which no cut-off follows.",
        "Do as the message says; or set spec.cutoff.strategy to Ridge or Fixed.",
    ),
    Reason.ACCELERATOR_MIXED: Explanation(
        "The target's Pods run on several types of GPU, each with a cut-off of its own.",
        "Pin the Deployment to one type with a nodeSelector, or set spec.accelerator.",
    ),
    Reason.ACCELERATOR_NOT_READABLE: Explanation(
        "No node of the target can be read: no right to read nodes, or no Pod is bound yet.",
        "Set spec.accelerator, or let the operator's account list nodes.",
    ),
    Reason.TARGET_NOT_FOUND: Explanation(
        "spec.targetRef names a Deployment that does not exist in the serving's namespace.",
        "Create it, or correct spec.targetRef.name.",
    ),
    Reason.TARGET_DELETING: Explanation("The target is being deleted.", _NOTHING),
    Reason.TARGET_CONFLICT: Explanation(
        "An older serving has the same target; only the older one acts.",
        "Delete one of the two servings.",
    ),
    Reason.CONTAINER_AMBIGUOUS: Explanation(
        "The target has several containers and spec.targetRef.containerName names none.",
        "Set spec.targetRef.containerName to the container that runs vLLM.",
    ),
    Reason.CONTAINER_NOT_FOUND: Explanation(
        "spec.targetRef.containerName names no container of the target.",
        "Correct spec.targetRef.containerName.",
    ),
    Reason.INJECTION_POINT_MISSING: Explanation(
        "The container's command and args do not read $(SPECULATION_CONFIG).",
        'Add "--speculative-config=$(SPECULATION_CONFIG)" to its args, and an empty default.',
    ),
    Reason.SPECULATIVE_CONFIG_INVALID: Explanation(
        "The speculative config that the target carries is not a JSON object.",
        "Correct it in the Deployment, or remove it.",
    ),
    Reason.ACTIVE_PROFILE_UNKNOWN: Explanation(
        "The target runs a speculative config that no profile of the serving describes.",
        "Add a profile that describes it, or remove it from the Deployment.",
    ),
    Reason.PROFILE_MISMATCH: Explanation(
        "The servers' metrics contradict the profile that the Pod template carries.",
        "Check the default of SPECULATION_CONFIG (an empty value) and the launcher.",
    ),
    Reason.ROLLOUT_UNDER_WAY: Explanation(
        "A rolling update or a scale-up of the target is under way.", "Wait until it ends."
    ),
    Reason.ROLLOUT_PAUSED: Explanation(
        "The target's rollout is paused by somebody.", "Resume it: kubectl rollout resume."
    ),
    Reason.ROLLOUT_STALLED: Explanation(
        "A rolling update of the target passed its progress deadline.",
        "Look at the target's new Pods: kubectl rollout status, kubectl describe pod.",
    ),
    Reason.FIELD_CONFLICT: Explanation(
        "Another field manager owns a field that the profile needs.",
        "Remove the field from that manager's manifest, as the message shows.",
    ),
    Reason.UNDONE_BY_OTHERS: Explanation(
        "Somebody else removed or replaced the profile that the operator had set.",
        "Decide who owns it: remove it from the other side, or suspend the serving.",
    ),
    Reason.WRITE_REFUSED: Explanation(
        "The API server refused to change the target.",
        "Read the message: it is the API server's own (rights, admission policy, quota).",
    ),
    Reason.ROLL_STOPS_SERVING: Explanation(
        "The target's strategy is Recreate: a roll would stop every replica first.",
        "Set spec.strategy.type: RollingUpdate in the Deployment.",
    ),
    Reason.ROLL_CANNOT_MOVE: Explanation(
        "maxSurge and maxUnavailable both round to no Pod.",
        "Set one of them to 1 in the Deployment.",
    ),
    Reason.NO_ROOM_FOR_SURGE: Explanation(
        "A roll must start a Pod before it may take one away, and no node has a free GPU for it.",
        "Free a GPU, or set maxUnavailable: 1 in the Deployment.",
    ),
    Reason.DISRUPTION_BUDGET: Explanation(
        "A roll would take more Pods away at once than a PodDisruptionBudget allows now.",
        "Lower maxUnavailable in the Deployment, or wait until more Pods are healthy.",
    ),
    Reason.START_BUDGET_TOO_SHORT: Explanation(
        "A probe or the progress deadline would end a start that goes well.",
        "Raise startupProbe.failureThreshold or progressDeadlineSeconds in the Deployment.",
    ),
    Reason.DRAIN_TOO_SHORT: Explanation(
        "The grace period is shorter than the drain that preStop and --shutdown-timeout ask for; "
        "or, for a roll that can wait, the drain is shorter than the longest answers take.",
        "Raise terminationGracePeriodSeconds in the Deployment, or --shutdown-timeout (vLLM 0.18 "
        "and later; earlier ones abort running answers at SIGTERM and need a preStop sleep).",
    ),
    Reason.NO_QUOTA_FOR_SURGE: Explanation(
        "A roll must start a Pod before it may take one away, and a ResourceQuota allows no more.",
        "Raise the quota, or set maxUnavailable: 1 in the Deployment.",
    ),
    Reason.GANG_SCHEDULED: Explanation(
        "The target's Pods belong to a gang, which a scheduler starts together or not at all: the "
        "few Pods of a roll may wait for ever.",
        "Take the gang's label or annotation out of the Deployment (replicas of a server need "
        "not start together), or set the gang's least number to 1 where the message names a key.",
    ),
    Reason.POD_PROTECTED: Explanation(
        "A live Pod carries an annotation that asks not to disrupt it, and its template does not: "
        "somebody put it on this Pod.",
        "Ask who did; when the Pod may go, remove the annotation as the message shows.",
    ),
    Reason.SCALING_UNDER_WAY: Explanation(
        "A HorizontalPodAutoscaler is changing the number of the target's replicas.",
        "Wait until it is done.",
    ),
    Reason.TARGET_OWNED_BY_CONTROLLER: Explanation(
        "Another controller made the Deployment (ownerReferences) and would put its own Pod "
        "template back: ridgeline recommends and writes nothing.",
        "Set the speculative config in the object that the message names; the message shows it.",
    ),
    Reason.PODS_CRASH: Explanation(
        "A new Pod crashed twice; what was there before was put back.",
        "Look at the message, or at kubectl logs --previous; terminationMessagePolicy: "
        "FallbackToLogsOnError in the Deployment keeps a server's last words for the message.",
    ),
    Reason.ENGINE_REFUSES_CONFIG: Explanation(
        "The engine does not accept the profile's speculative config (its own words are in the "
        "message); what was there before was put back.",
        "Correct the profile, or use an image whose engine has what it asks for.",
    ),
    Reason.IMAGE_PULL_FAILED: Explanation(
        "The image of a new Pod cannot be pulled; what was there before was put back.",
        "Look at the image's name, the registry and the pull secret.",
    ),
    Reason.CONTAINER_CANNOT_START: Explanation(
        "The kubelet cannot make a new Pod's container; what was there before was put back.",
        "Look at the message: a ConfigMap, a Secret or a command is missing.",
    ),
    Reason.PODS_UNSCHEDULABLE: Explanation(
        "A new Pod found no node for five minutes; what was there before was put back.",
        "Free a GPU, or let the node autoscaler add one; the scheduler's words are in the message.",
    ),
    Reason.KILLED_BY_PROBE: Explanation(
        "A new Pod's server was killed by its startup (or liveness) probe twice before it was "
        "Ready; what was there before was put back.",
        "Raise failureThreshold or periodSeconds of the startupProbe: a drafter takes longer.",
    ),
    Reason.CANARY_BETTER: Explanation(
        "The canary takes less time per token than the old replicas, by more than two starts of "
        "one config differ: the rest follows.",
        _NOTHING,
    ),
    Reason.CANARY_ALIKE: Explanation(
        "The canary does not differ from the old replicas by more than two starts of one config "
        "do, and the prediction promised little: the rest follows.",
        _NOTHING,
    ),
    Reason.CANARY_SLOWER: Explanation(
        "The canary takes more time per token than the old replicas, by more than two starts of "
        "one config differ; it was taken back.",
        "Measure the profile on this GPU and engine, or take it out of spec.profiles.",
    ),
    Reason.CANARY_BELOW_PROMISE: Explanation(
        "The canary is no better than the old replicas, and far from what was predicted of it; it "
        "was taken back.",
        "Look at the profile's acceptance; the prediction has learned from it.",
    ),
    Reason.ANSWERS_DIFFER: Explanation(
        "The canary's answers are of another length than the old replicas', or end for other "
        "reasons: it may well be wrong text at full speed; it was taken back.",
        "Compare answers of both profiles; report it to the engine's developers.",
    ),
    Reason.WORSE_THAN_PROMISED: Explanation(
        "After the roll the whole fleet took more time per token than before it at the same "
        "concurrency; what was there before was put back.",
        "Look at the profile's acceptance and at status.proofs; the prediction has learned from "
        "it.",
    ),
    Reason.CANARY_UNDER_WAY: Explanation(
        "The first new Pods of a roll serve beside the old ones and are judged; the Deployment is "
        "paused until then (kubectl rollout status, helm --wait and Argo CD show it).",
        "Wait. To decide yourself, name a profile in the annotation ridgeline.dev/force-profile: "
        "the canary's lets the rest follow, another one takes the canary back.",
    ),
    Reason.CANARY_IMPOSSIBLE: Explanation(
        "The profile has not served yet with the target's present Pod template, and no canary can "
        "be made: maxUnavailable is not 0, or maxSurge makes more Pods than "
        "spec.rollout.canary.maxReplicas.",
        "Set maxUnavailable: 0 and maxSurge: 1 in the Deployment; or set "
        "spec.rollout.canary.otherwise: Roll; or order the profile once with the annotation "
        "ridgeline.dev/force-profile.",
    ),
    Reason.CANARY_NOT_JUDGED: Explanation(
        "The canary served, and there was too little to judge it by until its deadline.",
        "Raise spec.rollout.canary.deadlineSeconds, or set spec.rollout.canary.onNoTraffic: "
        "Promote.",
    ),
    Reason.CANARY_NOT_SERVING: Explanation(
        "No new Pod was Ready until the canary's deadline; what was there before was put back.",
        "Look at the profile's start in the Pods' logs; raise "
        "spec.rollout.canary.deadlineSeconds if it only needs more time.",
    ),
    Reason.TRIAL: Explanation(
        "Nobody knows the acceptance of the profile here: it is tried on one canary, measured and "
        "taken back.",
        "Wait; or set spec.rollout.trial: Never, or state the profile's acceptancePercent.",
    ),
    Reason.TRIAL_ENDED: Explanation(
        "The profile was measured on a canary, which is taken back; the cut-offs rest on the "
        "measurement from now on.",
        _NOTHING,
    ),
    Reason.TEMPLATE_CHANGED: Explanation(
        "Somebody changed the target's Pod template while a canary was judged: their change goes "
        "on without the canary's profile.",
        _NOTHING,
    ),
    Reason.SPEC_CHANGED: Explanation(
        "The serving does not ask for the profile any more that was being rolled.", _NOTHING
    ),
    Reason.ROLL_DEADLINE_EXCEEDED: Explanation(
        "The roll did not end in time (spec.progressDeadlineSeconds of the Deployment, or "
        "spec.rollout.deadlineSeconds); what was there before was put back.",
        "Look at the new Pods; raise the limit if they only need more time.",
    ),
    Reason.UNDOING: Explanation(
        "A profile is being taken back; lastDecision and status.rollout say why.", "Wait."
    ),
    Reason.ROLLBACK_STALLED: Explanation(
        "A profile was taken back, and the Pods of what was there before do not become available. "
        "The operator writes nothing again.",
        "Look at the Pods with kubectl describe pod: a node or a GPU may be gone.",
    ),
    Reason.PROFILE_QUARANTINED: Explanation(
        "The profile would be better, but a roll to it failed lately; status.quarantine says why "
        "and until when.",
        "Mend the cause: editing the profile, or another image or argument in the Deployment, "
        "lifts the quarantine at once. So does ordering the profile with the annotation "
        "ridgeline.dev/force-profile.",
    ),
    Reason.CANARY_STARTED: Explanation("The first new Pods of a roll are being made.", _NOTHING),
    Reason.ROLL_UNDONE: Explanation(
        "A profile is taken back by the operator; the message says why.",
        "See status.quarantine and status.rollout.",
    ),
    Reason.ROLL_RESTORED: Explanation(
        "Every replica runs again what it ran before the roll.", _NOTHING
    ),
    Reason.FORCED: Explanation(
        "The annotation ridgeline.dev/force-profile names the profile to run.",
        "Remove the annotation to go back to the cut-off table.",
    ),
    Reason.FORCED_PROFILE_UNKNOWN: Explanation(
        "The annotation ridgeline.dev/force-profile names no profile of the serving.",
        "Correct or remove the annotation.",
    ),
    Reason.FROZEN: Explanation(
        "The operator's freeze switch is on: no target is changed.",
        "Set freeze to false in the operator's configuration.",
    ),
    Reason.FROZEN_BY_SCHEDULE: Explanation(
        "A window of spec.schedules freezes the target: no roll is begun.",
        "Wait, correct the schedule, or order a profile with ridgeline.dev/force-profile.",
    ),
    Reason.SWITCH_ON_FORBIDDEN_BY_SCHEDULE: Explanation(
        "A quieter range applies, but a window of spec.schedules forbids switching on.",
        "Wait, or correct the schedule.",
    ),
    Reason.SHORT_CROWD_SCHEDULED: Explanation(
        "The target is saturated, and a window of spec.schedules says that this passes soon.",
        "Wait, correct the schedule, or let the Deployment surge: maxSurge and a free GPU.",
    ),
    Reason.CUTOFF_UNDECIDED: Explanation(
        "The strategy cannot tell surely enough whether speculation pays here; the message says "
        "why. The recommendation stands.",
        "Let the profile run once (annotation ridgeline.dev/force-profile) so that its acceptance "
        "is measured, state acceptancePercent in the profile, or measure the cut-off and set "
        "spec.cutoff with strategy Fixed.",
    ),
    Reason.SPEC_INVALID: Explanation(
        "The serving's spec cannot be read.", "Correct the field that the message names."
    ),
    Reason.POLICY_NOT_FOUND: Explanation(
        "spec.policyRef names a SpeculationPolicy that does not exist in the serving's namespace.",
        "Create it, correct spec.policyRef.name, or remove spec.policyRef.",
    ),
    Reason.SCHEDULE_INVALID: Explanation(
        "A schedule cannot be followed: its time zone, its times, or the profile that it names.",
        "Correct what the message names.",
    ),
    Reason.SCHEDULES_OVERLAP: Explanation(
        "Two schedules want different profiles at the same time; the first in the list wins.",
        "Let their windows not overlap, or leave the order as it is if it is meant.",
    ),
    Reason.ACCEPTANCE_DRIFTED: Explanation(
        "The acceptance length of the active profile is more than 10 % away from what is usual "
        "here: a stale draft head gives no error, only slowness. Nothing is changed for it.",
        "Look at what was changed: the model, its draft, or the requests.",
    ),
    Reason.STEP_TIME_DRIFTED: Explanation(
        "The step time of the active profile is more than 15 % away from what was learned here. "
        "Nothing is changed for it.",
        "Look at what was changed: the GPU's clock or neighbours, the engine, the requests.",
    ),
    Reason.SCHEDULES_RESOLVED: Explanation(
        "Every schedule can be followed, and no two want different profiles at once.", _NOTHING
    ),
    Reason.RESOLVED: Explanation("The target and its container were found.", _NOTHING),
    Reason.FRESH: Explanation("Telemetry is present, fresh and finite.", _NOTHING),
    Reason.NOT_NEEDED: Explanation("Not evaluated while something else is wrong.", _NOTHING),
    Reason.OBSERVING: Explanation("Seen for the first time; not decided yet.", "Wait one tick."),
    Reason.OPERATING: Explanation("The serving is observed and decided.", _NOTHING),
    Reason.NOT_SUSPENDED: Explanation("spec.suspend is false.", _NOTHING),
    Reason.APPLIED: Explanation("Every replica runs the desired profile.", _NOTHING),
    Reason.ROLL_STARTED: Explanation("The operator began to roll the target.", _NOTHING),
    Reason.ROLL_FINISHED: Explanation("Every replica of the target runs the profile.", _NOTHING),
    Reason.ROLL_ABANDONED: Explanation(
        "A roll that was announced before a restart was not begun, since the target had changed.",
        _NOTHING,
    ),
    Reason.RECOVERED: Explanation("What had been wrong is mended.", _NOTHING),
}
