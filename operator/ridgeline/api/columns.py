"""The columns of `kubectl get`, per kind."""

from typing import Any, Final

Column = dict[str, Any]

_AGE: Final[Column] = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
    "description": "Time since the object was created.",
}

SERVING: Final[tuple[Column, ...]] = (
    {
        "name": "Target",
        "type": "string",
        "jsonPath": ".spec.targetRef.name",
        "description": "Workload that runs vLLM.",
    },
    {
        "name": "Profile",
        "type": "string",
        "jsonPath": ".status.activeProfile",
        "description": "Profile that the target carries.",
    },
    {
        "name": "Desired",
        "type": "string",
        "jsonPath": ".status.desiredProfile",
        "description": "Profile that the operator wants it to carry.",
    },
    {
        "name": "Cut-off",
        "type": "integer",
        "jsonPath": ".status.cutoffTable[0].upToConcurrency",
        "description": "Concurrency per engine at which the quietest range ends.",
    },
    {
        "name": "Act-at",
        "type": "integer",
        "jsonPath": ".status.cutoffTable[0].actAtConcurrency",
        "description": "Concurrency per engine at which the control law leaves that range.",
    },
    {
        "name": "Ready",
        "type": "string",
        "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
        "description": "Whether the serving is observed and decided.",
    },
    {
        "name": "Reason",
        "type": "string",
        "jsonPath": ".status.lastDecision.reason",
        "description": "Why the last decision was made.",
    },
    {
        "name": "Accelerator",
        "type": "string",
        "jsonPath": ".status.accelerator.name",
        "priority": 1,
        "description": "GPU that the cut-offs are computed for.",
    },
    {
        "name": "Policy",
        "type": "string",
        "jsonPath": ".spec.policyRef.name",
        "priority": 1,
        "description": "Policy that the serving takes its tuning from.",
    },
    {
        "name": "Last decision",
        "type": "string",
        "jsonPath": ".status.lastDecision.message",
        "priority": 1,
        "description": "The last decision, with its numbers.",
    },
    _AGE,
)

POLICY: Final[tuple[Column, ...]] = (
    {
        "name": "Strategy",
        "type": "string",
        "jsonPath": ".spec.cutoff.strategy",
        "description": "Where the cut-offs come from, where the policy says it.",
    },
    {
        "name": "Preset",
        "type": "string",
        "jsonPath": ".spec.cutoff.preset",
        "description": "Published operating point that the cut-offs are taken from.",
    },
    {
        "name": "Cooldown",
        "type": "integer",
        "jsonPath": ".spec.cooldownSeconds",
        "description": "Seconds after a roll in which nothing is switched on.",
    },
    {
        "name": "Switches a day",
        "type": "integer",
        "jsonPath": ".spec.maxSwitchesPerDay",
        "description": "Most switches in any 24 hours.",
    },
    {
        "name": "Telemetry",
        "type": "string",
        "jsonPath": ".spec.telemetry",
        "priority": 1,
        "description": "Telemetry endpoint that the servings are observed by.",
    },
    _AGE,
)

ACCELERATOR: Final[tuple[Column, ...]] = (
    {
        "name": "Memory GiB",
        "type": "integer",
        "jsonPath": ".spec.memoryGiB",
        "description": "Memory of one GPU.",
    },
    {
        "name": "GB/s",
        "type": "integer",
        "jsonPath": ".spec.memoryBandwidthGBps",
        "description": "Memory bandwidth of one GPU.",
    },
    {
        "name": "BF16 TFLOPS",
        "type": "integer",
        "jsonPath": ".spec.denseBF16TFLOPS",
        "description": "Dense 16-bit throughput.",
    },
    {
        "name": "FP8 TFLOPS",
        "type": "integer",
        "jsonPath": ".spec.denseFP8TFLOPS",
        "description": "Dense 8-bit throughput.",
    },
    {
        "name": "Link",
        "type": "string",
        "jsonPath": ".spec.link.kind",
        "description": "What the GPUs of one node are joined by.",
    },
    {
        "name": "Ridge tokens",
        "type": "integer",
        "jsonPath": ".spec.ridgeTokens",
        "description": "Tokens per step from which speculation does not pay, where it is set.",
    },
    {
        "name": "Products",
        "type": "string",
        "jsonPath": ".spec.match.productNames",
        "priority": 1,
        "description": "Values of node labels that name the GPU.",
    },
    _AGE,
)
