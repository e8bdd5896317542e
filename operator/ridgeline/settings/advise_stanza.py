"""A SpeculativeServing out of advice, as the API server takes it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.api.errors import InvalidServing
from ridgeline.api.serving import parse_serving
from ridgeline.costmodel.acceptance import rates_from_counters
from ridgeline.costmodel.lookahead import Tier
from ridgeline.engine.speculative_config import Profile
from ridgeline.settings.advise_model import AdvisedModel, model_stanza
from ridgeline.settings.model_names import last_part
from ridgeline.terms.methods import Method
from ridgeline.terms.names import API_VERSION, SERVING_KIND
from ridgeline.terms.precision import Precision

_NEEDS_MODEL: Final = frozenset({Method.EAGLE, Method.EAGLE3, Method.DRAFT_MODEL})
_LONGEST: Final = 63


class StanzaError(ValueError):
    """No serving that works can be written; the message says what to give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a serving is written from.

    Attributes:
        name: Name of the serving and of its Deployment; empty for the model's own name.
        namespace: Its namespace; `None` leaves it to whoever applies it.
        model: The model.
        precision: Of its weights; `None` leaves it to the container's arguments.
        accelerator: Name of the GPU in the catalogue.
        engine_version: Version of vLLM that a person told; `None` leaves it to the image's tag.
        profiles: The profiles, one of them without speculation.
        schedules: Rows of in-engine lookaheads, by the profile's name.
    """

    name: str
    namespace: str | None
    model: AdvisedModel
    precision: Precision | None
    accelerator: str
    engine_version: str | None
    profiles: Sequence[Profile]
    schedules: dict[str, tuple[Tier, ...]]


def serving_stanza(wanted: Wanted) -> dict[str, Any]:
    """Return the serving as plain values, in the order of its reference.

    Raises:
        StanzaError: A head or draft model has no name, or a name is none that Kubernetes takes.
    """
    name = wanted.name or label_of(wanted.model.target.shape.name)
    metadata = {"name": name}
    if wanted.namespace is not None:
        metadata["namespace"] = wanted.namespace
    body: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": SERVING_KIND,
        "metadata": metadata,
        "spec": {
            "targetRef": {"name": name},
            "mode": "RecommendOnly",
            "profiles": [
                _profile(each, wanted.schedules.get(each.name, ())) for each in wanted.profiles
            ],
            "accelerator": wanted.accelerator,
            "model": model_stanza(wanted.model, wanted.precision),
        },
    }
    if wanted.engine_version is not None:
        body["spec"]["engine"] = {"version": wanted.engine_version}
    try:
        parse_serving(body, strict=True)
    except InvalidServing as error:
        raise StanzaError(f"no serving can be written: {error}") from error
    return body


def label_of(name: str) -> str:
    """Return a model's name as a DNS label: `meta-llama/Llama-3.1-8B` becomes `llama-3-1-8b`."""
    plain = re.sub(r"[^a-z0-9]+", "-", last_part(name).casefold()).strip("-")
    return plain[:_LONGEST].strip("-") or "model"


def _profile(profile: Profile, rows: Sequence[Tier]) -> dict[str, Any]:
    if profile.method in _NEEDS_MODEL and profile.model is None:
        method = profile.method.value
        raise StanzaError(
            f"profile {profile.name}: the catalogue has no {method} drafter for this model: name "
            f"one as --method {method}:{profile.num_speculative_tokens or 3}:ORGANISATION/NAME"
        )
    lookahead = max((each.lookahead for each in rows), default=profile.num_speculative_tokens)
    told: dict[str, Any] = {
        "name": profile.name,
        "method": profile.method.value,
        "model": profile.model,
        "numSpeculativeTokens": lookahead,
        "schedule": [
            {"fromRequests": each.first, "numSpeculativeTokens": each.lookahead} for each in rows
        ]
        or None,
        "acceptancePercent": None
        if profile.acceptance is None
        else [
            round(each * 100)
            for each in rates_from_counters(
                profile.acceptance, lookahead or len(profile.acceptance)
            )
        ],
    }
    return {key: value for key, value in told.items() if value is not None}
