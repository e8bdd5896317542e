"""The objects of a scene: a vLLM Deployment made of stand-ins, its Service, and its serving."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]

IMAGE = "ridgeline.dev/vllm-stand-in:v0.32.0"
MODEL = "meta-llama/Meta-Llama-3-8B-Instruct"
H100 = "NVIDIA-H100-80GB-HBM3"
EAGLE = {
    "name": "eagle",
    "method": "Eagle",
    "model": "yuhuili/EAGLE-LLaMA3-Instruct-8B",
    "numSpeculativeTokens": 4,
}
NONE = {"name": "none", "method": "Disabled"}

STATED_ACCEPTANCE = [60, 33, 17, 7]
"""Acceptance of the stand-in's drafts in per cent by position, as its settings have it."""

STAND_IN_GPU: Object = {
    "apiVersion": "ridgeline.dev/v1alpha1",
    "kind": "AcceleratorProfile",
    "metadata": {"name": "stand-in"},
    # A stand-in takes 100 ms a step, ten times a GPU's, and slows down from 48 tokens on. A GPU
    # with these figures would do so on an 8B model.
    "spec": {"memoryGiB": 80, "memoryBandwidthGBps": 200, "denseBF16TFLOPS": 22},
}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A Deployment of stand-ins and the serving that tunes it.

    Attributes:
        name: Name of Deployment, Service and serving.
        namespace: Where they are.
        replicas: Replicas of the Deployment.
        up_to: Cut-off of profile `eagle`, in requests in decode per engine.
        return_below: Lower edge of its band.
        stand_in: Settings of the stand-in (environment).
        gpus: GPUs that each Pod asks for.
        strategy: Fixed, by `up_to` and `return_below`, or Goodput, predicted for `STAND_IN_GPU`.
        rollout: How carefully it is rolled; by default without canary and trial.
        quiet_profile: The profile that the cut-off table asks for below the cut-off; above it, the
            other one. A scene without load is rolled by turning the table round.
    """

    name: str = "llama-8b"
    namespace: str
    replicas: int = 4
    up_to: int = 20
    return_below: int = 14
    busier_seconds: int = 5
    quieter_seconds: int = 8
    cooldown_seconds: int = 10
    mode: str = "Automatic"
    max_surge: int = 1
    max_unavailable: int = 1
    gpus: int = 1
    strategy: str = "Fixed"
    quiet_profile: str = "eagle"
    rollout: Object = field(default_factory=lambda: {"canary": {"when": "Never"}, "trial": "Never"})
    stand_in: dict[str, str] = field(default_factory=lambda: {"STAND_IN_STARTUP_SECONDS": "2"})

    def objects(self) -> list[Object]:
        """Everything but the serving."""
        return [self.default_config(), self.deployment(), self.service()]

    def default_config(self) -> Object:
        """The ConfigMap that gives the empty default."""
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "no-speculation", "namespace": self.namespace},
            "data": {"SPECULATION_CONFIG": ""},
        }

    def deployment(self) -> Object:
        """The target, as it stands in Git."""
        labels = {"app.kubernetes.io/name": self.name}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "replicas": self.replicas,
                "strategy": {
                    "rollingUpdate": {
                        "maxSurge": self.max_surge,
                        "maxUnavailable": self.max_unavailable,
                    }
                },
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {
                        "labels": labels,
                        "annotations": {
                            "prometheus.io/scrape": "true",
                            "prometheus.io/port": "8000",
                        },
                    },
                    "spec": self._pod(),
                },
            },
        }

    def _pod(self) -> Object:
        resources = {"nvidia.com/gpu": str(self.gpus)} if self.gpus else {}
        return {
            "nodeSelector": {"nvidia.com/gpu.product": H100},
            "terminationGracePeriodSeconds": 30,
            "containers": [
                {
                    "name": "vllm",
                    "image": IMAGE,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["vllm", "serve"],
                    "args": [
                        MODEL,
                        "--port=8000",
                        "--shutdown-timeout=25",
                        "--speculative-config=$(SPECULATION_CONFIG)",
                    ],
                    "envFrom": [{"configMapRef": {"name": "no-speculation"}}],
                    "env": [{"name": k, "value": v} for k, v in sorted(self.stand_in.items())],
                    "ports": [{"name": "http", "containerPort": 8000}],
                    "resources": {"requests": resources, "limits": resources},
                    "readinessProbe": {
                        "httpGet": {"path": "/health", "port": "http"},
                        "periodSeconds": 1,
                        "timeoutSeconds": 3,
                    },
                    "lifecycle": {"preStop": {"sleep": {"seconds": 2}}},
                }
            ],
        }

    def service(self) -> Object:
        """The Service that the load goes to."""
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "selector": {"app.kubernetes.io/name": self.name},
                "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
            },
        }

    def serving(self) -> Object:
        """The SpeculativeServing."""
        return {
            "apiVersion": "ridgeline.dev/v1alpha1",
            "kind": "SpeculativeServing",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {
                "targetRef": {"name": self.name},
                "mode": self.mode,
                **self._cutoff(),
                "stabilization": {
                    "busierSeconds": self.busier_seconds,
                    "quieterSeconds": self.quieter_seconds,
                },
                "cooldownSeconds": self.cooldown_seconds,
                "rollout": self.rollout,
            },
        }

    def _cutoff(self) -> Object:
        if self.strategy == "Fixed":
            return {"profiles": [EAGLE, NONE], "cutoff": {"ranges": self.ranges()}}
        return {
            "profiles": [{**EAGLE, "acceptancePercent": STATED_ACCEPTANCE}, NONE],
            "cutoff": {"strategy": self.strategy},
            "accelerator": STAND_IN_GPU["metadata"]["name"],
        }

    def ranges(self) -> list[Object]:
        """The cut-off table of the serving."""
        busy = next(each["name"] for each in (EAGLE, NONE) if each["name"] != self.quiet_profile)
        return [
            {
                "profile": self.quiet_profile,
                "upToConcurrency": self.up_to,
                "returnBelowConcurrency": self.return_below,
            },
            {"profile": busy},
        ]
