"""Kinds of objects that make a Deployment and whose own env list the operator can write."""

from enum import StrEnum


class ParentKind(StrEnum):
    """A kind with an adapter (`cluster.parents`); none is written unless it is switched on."""

    INFERENCE_SERVICE = "InferenceService"
    LLM_INFERENCE_SERVICE = "LLMInferenceService"
