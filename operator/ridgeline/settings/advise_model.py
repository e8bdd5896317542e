"""A model that advice is wanted on: a name of the catalogue, or a checkpoint's `config.json`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from ridgeline.api.spec import Experts, Model, Shape
from ridgeline.costmodel.shape import ModelShape
from ridgeline.settings.advise_precision import (
    TOLD_BY_NOTHING,
    PrecisionOfConfig,
    broken_quantization,
    precision_of,
)
from ridgeline.settings.model_config import UnreadableConfig, facts_of_config
from ridgeline.settings.models import load_models, nearest
from ridgeline.settings.target_model import TargetModel
from ridgeline.terms.precision import Precision

_MILLION: Final = 1e6
_DRAFT_SHARE: Final = 8
_ALIKE: Final = 0.01
"""Share by which two counts of parameters of one shape may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedModel:
    """A model, ready for the cost model and for a serving.

    Attributes:
        target: What the cost model needs.
        stanza: What a serving says of it: a name where the catalogue has it, else its shape.
        precision: What told the precision of its weights.
        notes: What a person should know.
    """

    target: TargetModel
    stanza: Model
    precision: PrecisionOfConfig
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoModel:
    """Why a model is not known; for a person, with the way out."""

    message: str


def model_of_name(name: str) -> AdvisedModel | NoModel:
    """Return a model of the catalogue by any name that people write."""
    entry = load_models().find(name)
    if entry is None:
        close = nearest(name)
        like = f"; nearest are {', '.join(close)}" if close else ""
        return NoModel(
            message=f"the catalogue has no model {name!r}{like}; take one of the same shape, or "
            "give the checkpoint's config.json in place of the name (a path that ends in .json)"
        )
    facts = entry.facts
    return AdvisedModel(
        target=TargetModel(shape=facts.shape(), facts=facts, found_by="the catalogue"),
        stanza=Model(name=facts.name),
        precision=TOLD_BY_NOTHING,
        notes=() if facts.checked else (f"the shape of {facts.name} was not checked",),
    )


def model_of_config(config: Mapping[str, object], name: str) -> AdvisedModel | NoModel:
    """Return the model that a `config.json` describes.

    Args:
        config: The parsed file.
        name: What to call it.
    """
    broken = broken_quantization(config)
    if broken:
        return NoModel(
            message=f"config.json of {name} does not tell its precision: {broken}; correct it, or "
            "take the key out and say the precision yourself"
        )
    facts = facts_of_config(config, name, source="its config.json")
    if isinstance(facts, UnreadableConfig):
        return NoModel(message=facts.message)
    shape = facts.shape()
    try:
        stanza = shape_stanza(shape)
    except ValidationError as error:
        first = error.errors()[0]
        return NoModel(
            message=f"config.json of {name} makes a model that no serving can describe: "
            f"{first['loc'][0]} {first['msg'].lower()}; correct the file"
        )
    notes = []
    if not facts.checked:
        notes.append(
            f"{_kind(config)}: its keys were read as those of Llama are; compare the parameters "
            "with what its publisher says"
        )
    same = same_shape(shape)
    if same is not None:
        notes.append(f"the catalogue has this shape as {same}: model name {same} says the same")
    return AdvisedModel(
        target=TargetModel(shape=shape, facts=facts, found_by="its config.json"),
        stanza=Model(shape=stanza),
        precision=precision_of(config),
        notes=tuple(notes),
    )


def _kind(config: Mapping[str, object]) -> str:
    told = config.get("model_type")
    return f"model type {str(told)[:40]!r} is not known" if told else "no model_type is told"


def uneven_heads(target: TargetModel, tensor_parallel: int) -> str:
    """Return why vLLM does not start a model on so many GPUs; empty where nothing tells.

    vLLM splits attention by heads, and refuses a size that does not divide them
    (`ModelConfig.verify_with_parallel_config`).
    """
    facts = target.facts
    if facts is None or facts.heads % tensor_parallel == 0:
        return ""
    return (
        f"vLLM refuses --tensor-parallel-size {tensor_parallel}: {facts.name} has {facts.heads} "
        "heads of attention, which it does not divide"
    )


def drafts_for(target: TargetModel) -> tuple[str, ...]:
    """Return models of the catalogue that may draft for a target: its family's first, then by size.

    They have its vocabulary, as vLLM wants it, and an eighth of its parameters at most: with more
    the draft takes what it saves.
    """
    shape = target.shape
    fitting = [
        each.facts
        for each in load_models().entries
        if each.facts.vocabulary == shape.vocabulary
        and each.facts.params * _DRAFT_SHARE <= shape.params
    ]
    family = shape.name.rpartition("-")[0]
    ranked = sorted(fitting, key=lambda each: (each.name.rpartition("-")[0] != family, each.params))
    return tuple(each.name for each in ranked)


def same_shape(shape: ModelShape) -> str | None:
    """Return a model of the catalogue that a step cannot tell from this one; `None` for none."""
    for entry in load_models().entries:
        other = entry.facts.shape()
        alike = (
            (other.layers, other.hidden, other.vocabulary, other.window)
            == (shape.layers, shape.hidden, shape.vocabulary, shape.window)
            and other.kv_elements_per_token == shape.kv_elements_per_token
            and (other.experts is None) == (shape.experts is None)
            and math.isclose(other.params, shape.params, rel_tol=_ALIKE)
        )
        if alike:
            return entry.facts.name
    return None


def shape_stanza(shape: ModelShape) -> Shape:
    """Return a shape as a serving writes it: `spec.model.shape`.

    Raises:
        ValidationError: A number is larger than the field takes.
    """
    windowed = shape.windowed_kv_elements_per_token > 0 and shape.window > 0
    experts = shape.experts
    return Shape(
        layers=shape.layers,
        hidden_size=shape.hidden,
        vocabulary_size=shape.vocabulary,
        parameters_millions=max(1, round(shape.params / _MILLION)),
        kv_elements_per_token=round(shape.kv_elements_per_token),
        windowed_kv_elements_per_token=round(shape.windowed_kv_elements_per_token)
        if windowed
        else None,
        window_tokens=shape.window if windowed else None,
        experts=None
        if experts is None
        else Experts(
            count=experts.count,
            active=experts.active,
            layers=experts.layers,
            parameters_millions=max(1, round(experts.params / _MILLION)),
        ),
    )


def model_stanza(model: AdvisedModel, precision: Precision | None) -> dict[str, Any]:
    """Return `spec.model` of a serving, as plain values in the order of its reference.

    Args:
        model: The model.
        precision: Of its weights; `None` leaves it to the container's arguments.
    """
    told = model.stanza.model_copy(update={"precision": precision})
    found: dict[str, Any] = told.model_dump(mode="json", exclude_none=True)
    return found
