"""What each reason means, and what a person can do about it.

Every reason has a meaning (what was seen) and a way out. Both stand here once; the reference page
of the docs is made from them. Those of rolls stand in a file of their own.
"""

from typing import Final

from ridgeline.terms.explanation import NOTHING, Explanation
from ridgeline.terms.reasons import Reason
from ridgeline.terms.roll_explanations import ROLL_EXPLANATIONS

EXPLANATIONS: Final[dict[Reason, Explanation]] = {
    Reason.BEST_PROFILE_ACTIVE: Explanation(
        "The target already runs the profile that the cut-off table asks for.", NOTHING
    ),
    Reason.INSIDE_BAND: Explanation(
        "Concurrency lies inside the band between two profiles; the active one stays.", NOTHING
    ),
    Reason.ABOVE_CUTOFF: Explanation(
        "Concurrency stayed at or above a cut-off, so a busier row of the table applies.", NOTHING
    ),
    Reason.BELOW_CUTOFF: Explanation(
        "Concurrency stayed below the band's lower edge, so a quieter row applies.", NOTHING
    ),
    Reason.SCHEDULED: Explanation(
        "A window of spec.schedules asks for the profile, or begins before a roll would end.",
        NOTHING,
    ),
    Reason.DEMAND_HIGH: Explanation(
        "Demand stayed above what a roll can be begun at: the profile for more of it is put in "
        "while there is still room.",
        NOTHING,
    ),
    Reason.SATURATED: Explanation(
        "Requests wait for capacity, or lose their place: the profile for more demand is put in.",
        NOTHING,
    ),
    Reason.ALL_QUIET: Explanation(
        "Demand and concurrency stayed low and nothing waits: the profile for less demand is put "
        "in.",
        NOTHING,
    ),
    Reason.REGRET: Explanation(
        "Staying on the profile has cost more than half of what a roll costs, in request-seconds.",
        NOTHING,
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
    Reason.TARGET_DELETING: Explanation("The target is being deleted.", NOTHING),
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
    Reason.ARGS_NOT_EDITABLE: Explanation(
        "spec.injection.mode is Args, and the flag in the container's arguments cannot be read or "
        "replaced safely: it stands in a shell's script, in command, in a variable or a --config "
        "file, or contradicts another.",
        "Write it as the message shows, or use injection mode Env.",
    ),
    Reason.ARGS_NOT_ALLOWED: Explanation(
        "spec.injection.mode is Args, and the operator's configuration does not let it write "
        "argument lists.",
        "Use injection mode Env; or, knowing what it gives away, set guard.allowArgs: true in the "
        "chart.",
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
    Reason.NO_QUOTA_FOR_SURGE: Explanation(
        "A roll must start a Pod before it may take one away, and a ResourceQuota allows no more.",
        "Raise the quota, or set maxUnavailable: 1 in the Deployment.",
    ),
    Reason.GANG_SCHEDULED: Explanation(
        "The target's Pods belong to a gang, which a scheduler starts together or not at all, and "
        "it needs more Pods than are there during a roll, or nobody tells how many: the few Pods "
        "of a roll may wait for ever.",
        "Take the gang's label or annotation out of the Deployment (replicas of a server need "
        "not start together), or lower the gang's least number as the message says.",
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
        "Set the speculative config in the object that the message names; the message shows it. "
        "Some kinds can be written by the operator (`parents` in its configuration).",
    ),
    Reason.ENGINE_WOULD_REFUSE: Explanation(
        "The release of vLLM that the target runs is known to refuse the profile, or to fail with "
        "it: its servers would not start.",
        "Do what the message says: change the profile or the flag that it names, or use another "
        "release. `ridgeline lint` shows every finding.",
    ),
    Reason.ENGINE_VERSION_UNKNOWN: Explanation(
        "Nobody tells which release of vLLM the target runs (the image's tag names none), so it is "
        "not known which settings it takes.",
        "Set spec.engine.version to the release, or spec.engine.unverified: Allow.",
    ),
    Reason.ENGINE_NOT_VERIFIED: Explanation(
        "The target runs a release of vLLM that this version of ridgeline does not know.",
        "Update ridgeline, or set spec.engine.unverified: Allow to have it treated as the newest "
        "known one before it.",
    ),
    Reason.ENGINE_TOO_OLD: Explanation(
        "The target's release of vLLM exports no latency per token: ridgeline recommends and "
        "writes nothing.",
        "Use vLLM 0.11 or newer; `kubectl ridgeline explain` shows what is recommended.",
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
    Reason.TOLD_BY_ANOTHER_VERSION: Explanation(
        "Another version of the operator wrote why, in a word that this one does not know; its "
        "message stands beside it. What it stands for holds all the same.",
        "Read the message, or the reasons of the version that wrote it.",
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
        "Every schedule can be followed, and no two want different profiles at once.", NOTHING
    ),
    Reason.RESOLVED: Explanation("The target and its container were found.", NOTHING),
    Reason.FRESH: Explanation("Telemetry is present, fresh and finite.", NOTHING),
    Reason.NOT_NEEDED: Explanation("Not evaluated while something else is wrong.", NOTHING),
    Reason.OBSERVING: Explanation("Seen for the first time; not decided yet.", "Wait one tick."),
    Reason.OPERATING: Explanation("The serving is observed and decided.", NOTHING),
    Reason.NOT_SUSPENDED: Explanation("spec.suspend is false.", NOTHING),
    Reason.APPLIED: Explanation("Every replica runs the desired profile.", NOTHING),
    Reason.RECOVERED: Explanation("What had been wrong is mended.", NOTHING),
    **ROLL_EXPLANATIONS,
}
