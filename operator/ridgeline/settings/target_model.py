"""The model that a target serves: what a person named, else what the command line names."""

from dataclasses import dataclass
from typing import Final

from ridgeline.api.spec import Model, Shape
from ridgeline.costmodel.shape import Experts, ModelShape
from ridgeline.engine.served_model import ServedModel
from ridgeline.policy.facts import Problem
from ridgeline.settings.model_drafts import NoDraft, draft_of
from ridgeline.settings.model_facts import ModelFacts
from ridgeline.settings.model_heads import Draft
from ridgeline.settings.models import load_models, nearest
from ridgeline.terms.methods import Method
from ridgeline.terms.reasons import Reason

_MILLION: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetModel:
    """A served model.

    Attributes:
        shape: What the cost model needs of it.
        facts: Its configuration, `None` of a model that a person described by its shape alone.
        found_by: What told it, for a person.
        notes: What a person should know of it.
    """

    shape: ModelShape
    facts: ModelFacts | None
    found_by: str
    notes: tuple[str, ...] = ()

    def draft(self, method: Method, name: str | None) -> Draft | NoDraft | None:
        """Return what drafts for it; `None` where the method drafts without a model."""
        if self.facts is not None:
            return draft_of(method, name, self.facts)
        if method in (Method.EAGLE, Method.EAGLE3):
            return _head_of_shape(method, name, self.shape)
        if method is Method.DRAFT_MODEL and name:
            found = load_models().find(name)
            if found is not None:
                return Draft(shape=found.facts.shape(), added_params=float(found.facts.params))
        if method in (Method.DRAFT_MODEL, Method.MTP):
            return NoDraft(
                message=f"what {method.value} drafts with cannot be told from the target's shape "
                "alone: name a draft model of the catalogue, or use a head or n-grams"
            )
        return None


def target_model(told: Model | None, served: ServedModel) -> TargetModel | Problem:
    """Return the model that a target serves, or why it is not known.

    Args:
        told: The serving's `spec.model`.
        served: What the container's command line tells.
    """
    if told is not None and told.shape is not None:
        return TargetModel(
            shape=_shape_of(told.shape, told.name or served.name or "the served model"),
            facts=None,
            found_by="spec.model.shape",
        )
    name = told.name if told is not None and told.name is not None else served.name
    found_by = "spec.model.name" if told is not None and told.name else "the container's arguments"
    if not name:
        return Problem(
            reason=Reason.MODEL_UNKNOWN,
            message="the container's arguments name no model: set spec.model.name to a model of "
            "the catalogue, or spec.model.shape; strategies Ridge and Fixed need neither",
        )
    entry = load_models().find(name)
    if entry is None:
        close = nearest(name)
        like = f" (names that look like it: {', '.join(close)})" if close else ""
        return Problem(
            reason=Reason.MODEL_UNKNOWN,
            message=f"the catalogue has no model {name!r}, which {found_by} names{like}: set "
            "spec.model.name to one of the same shape, or spec.model.shape from its config.json; "
            "strategies Ridge and Fixed need neither",
        )
    return TargetModel(shape=entry.facts.shape(), facts=entry.facts, found_by=found_by)


def _shape_of(shape: Shape, name: str) -> ModelShape:
    experts = None
    if shape.experts is not None:
        experts = Experts(
            count=shape.experts.count,
            active=shape.experts.active,
            params=shape.experts.parameters_millions * _MILLION,
            layers=shape.experts.layers,
        )
    return ModelShape(
        name=name,
        layers=shape.layers,
        hidden=shape.hidden_size,
        vocabulary=shape.vocabulary_size,
        params=shape.parameters_millions * _MILLION,
        experts=experts,
        kv_elements_per_token=float(shape.kv_elements_per_token),
        windowed_kv_elements_per_token=float(shape.windowed_kv_elements_per_token or 0),
        window=shape.window_tokens or 0,
        checked=True,
        source="spec.model.shape",
    )


def _head_of_shape(method: Method, name: str | None, target: ModelShape) -> Draft:
    """Return the head that a model usually gets, from its shape alone: one of its layers."""
    own_output = method is Method.EAGLE3
    features = 3 if own_output else 2
    vocabulary = min(32_000, target.vocabulary) if own_output else target.vocabulary
    embeddings = 2.0 * target.hidden * target.vocabulary
    layer = max(target.active_params - embeddings, 0.1 * target.params) / target.layers
    added = features * float(target.hidden) ** 2 + layer
    output = float(target.hidden) * vocabulary
    all_kv = target.kv_elements_per_token + target.windowed_kv_elements_per_token
    head = ModelShape(
        name=name or f"a typical {method.value} head",
        layers=1,
        hidden=target.hidden,
        vocabulary=vocabulary,
        params=added + output,
        kv_elements_per_token=all_kv / target.layers,
        checked=False,
        source=f"derived from the shape of {target.name}",
    )
    note = f"the {method.value} head {head.name} is taken for one layer of {target.name}"
    return Draft(
        shape=head,
        added_params=added + (output if own_output else 0.0),
        notes=(note,),
    )
