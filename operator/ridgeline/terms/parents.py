"""Kinds of objects that make a Deployment and whose own env list the operator can write."""

from enum import StrEnum


class ParentKind(StrEnum):
    """A kind of object that makes vLLM Deployments and can be written instead of them."""

    INFERENCE_SERVICE = "InferenceService"
    LLM_INFERENCE_SERVICE = "LLMInferenceService"
