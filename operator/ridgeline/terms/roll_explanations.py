"""What the reasons about rolls mean: before, during, and on the way back."""

from typing import Final

from ridgeline.terms.explanation import NOTHING, Explanation
from ridgeline.terms.reasons import Reason

ROLL_EXPLANATIONS: Final[dict[Reason, Explanation]] = {
    Reason.ROLL_STOPS_SERVING: Explanation(
        "The target's strategy is Recreate: a roll would stop every replica first.",
        "Set spec.strategy.type: RollingUpdate in the Deployment.",
    ),
    Reason.ROLL_CANNOT_MOVE: Explanation(
        "maxSurge and maxUnavailable both round to no Pod.",
        "Set one of them to 1 in the Deployment.",
    ),
    Reason.NO_ROOM_FOR_SURGE: Explanation(
        "A roll must start a Pod before it may take one away, and no node has a free GPU (or the "
        "devices that it claims) for it, or each has one of the target's Pods and their required "
        "anti-affinity lets no two share a node.",
        "Free a GPU, add a node, or set maxUnavailable: 1 in the Deployment.",
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
        "The image of a new Pod could not be pulled for a minute, however often the kubelet tried; "
        "what was there before was put back.",
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
        NOTHING,
    ),
    Reason.CANARY_ALIKE: Explanation(
        "The canary does not differ from the old replicas by more than two starts of one config "
        "do, and the prediction promised little: the rest follows.",
        NOTHING,
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
        NOTHING,
    ),
    Reason.REQUALIFICATION: Explanation(
        "What the active profile had shown was shown with another image, argument, engine version "
        "or GPU: one Pod without speculation is measured beside it and taken back.",
        "Wait; or set spec.rollout.requalify: Never.",
    ),
    Reason.REQUALIFIED: Explanation(
        "The fresh comparison is over: the Pod without speculation is no faster than the active "
        "profile by more than two starts of one config differ, so the profile stays.",
        NOTHING,
    ),
    Reason.WORSE_THAN_NONE: Explanation(
        "A Pod without speculation, measured beside the active profile, is faster by more than two "
        "starts of one config differ, or answers otherwise: the profile is left and quarantined.",
        "Look at status.proofs and at the profile's acceptance: was the model changed and its "
        "draft not, or does this engine version serve it badly? Editing the profile or another "
        "image lifts the quarantine.",
    ),
    Reason.PROOF_STALE: Explanation(
        "What the active profile had shown was shown with another image, argument, engine version "
        "or GPU. It is compared with no speculation anew when demand is low.",
        "Wait; kubectl ridgeline explain says what the comparison waits for.",
    ),
    Reason.TEMPLATE_CHANGED: Explanation(
        "Somebody changed the target's Pod template while a canary was judged: their change goes "
        "on without the canary's profile.",
        NOTHING,
    ),
    Reason.SPEC_CHANGED: Explanation(
        "The serving does not ask for the profile any more that was being rolled.", NOTHING
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
        "lifts the quarantine at once. Ordering the profile with the annotation "
        "ridgeline.dev/force-profile overrides it, once: an ordered roll that failed is not tried "
        "again before the quarantine is over.",
    ),
    Reason.CANARY_STARTED: Explanation("The first new Pods of a roll are being made.", NOTHING),
    Reason.ROLL_UNDONE: Explanation(
        "A profile is taken back by the operator; the message says why.",
        "See status.quarantine and status.rollout.",
    ),
    Reason.ROLL_RESTORED: Explanation(
        "Every replica runs again what it ran before the roll.", NOTHING
    ),
    Reason.ROLL_STARTED: Explanation("The operator began to roll the target.", NOTHING),
    Reason.ROLL_FINISHED: Explanation("Every replica of the target runs the profile.", NOTHING),
    Reason.ROLL_ABANDONED: Explanation(
        "A roll that was announced before a restart was not begun, since the target had changed.",
        NOTHING,
    ),
}
