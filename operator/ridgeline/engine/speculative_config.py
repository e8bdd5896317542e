"""A profile as vLLM's speculative config, and back.

The JSON is what `--speculative-config` takes (vLLM `SpeculativeConfig`; the keys used here are the
same in every release from 0.11 on). An empty text means no speculation: vLLM reads an empty value
so from 0.10.1 on.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ridgeline.terms.methods import Method

_VLLM_METHOD: Final[dict[Method, str]] = {
    Method.EAGLE: "eagle",
    Method.EAGLE3: "eagle3",
    Method.DRAFT_MODEL: "draft_model",
    Method.NGRAM: "ngram",
    Method.MTP: "mtp",
    Method.SUFFIX: "suffix",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named speculation setting.

    Attributes:
        name: Its name in the serving.
        method: How drafts are made.
        model: Head or draft model, where the method needs one.
        num_speculative_tokens: Lookahead K.
        prompt_lookup_max: Longest n-gram looked up (method NGram).
        prompt_lookup_min: Shortest n-gram looked up (method NGram).
        acceptance: Acceptance by position as a person stated it; the server never sees it.
    """

    name: str
    method: Method
    model: str | None = None
    num_speculative_tokens: int | None = None
    prompt_lookup_max: int | None = None
    prompt_lookup_min: int | None = None
    acceptance: tuple[float, ...] | None = None


class InvalidSpeculativeConfigError(ValueError):
    """The text is not a JSON object."""


def render(profile: Profile) -> str:
    """Return the text of the env item: compact JSON with a fixed key order, or empty.

    The order is fixed so that the same profile always yields the same Pod-template hash.
    """
    if not profile.method.speculates:
        return ""
    config: dict[str, object] = {"method": _VLLM_METHOD[profile.method]}
    optional = {
        "model": profile.model,
        "num_speculative_tokens": profile.num_speculative_tokens,
        "prompt_lookup_max": profile.prompt_lookup_max,
        "prompt_lookup_min": profile.prompt_lookup_min,
    }
    config.update({key: value for key, value in optional.items() if value is not None})
    return json.dumps(config, separators=(",", ":"), ensure_ascii=False)


def parse(text: str) -> Mapping[str, object] | None:
    """Return the config that a text carries, `None` for no speculation.

    Raises:
        InvalidSpeculativeConfigError: The text is neither empty nor a JSON object.
    """
    if not text.strip():
        return None
    try:
        config = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidSpeculativeConfigError(
            f"speculative config {_short(text)} is not JSON ({error.msg} at column {error.colno})"
        ) from error
    except (ValueError, RecursionError) as error:
        # Numbers of thousands of digits and brackets nested as deep are JSON that Python refuses.
        raise InvalidSpeculativeConfigError(
            f"speculative config {_short(text)} cannot be read: a number or the nesting is too long"
        ) from error
    if not isinstance(config, dict):
        raise InvalidSpeculativeConfigError(
            f"speculative config {_short(text)} is JSON, but not an object"
        )
    return config


def profile_of(text: str, profiles: tuple[Profile, ...]) -> Profile | None:
    """Return the profile that a text stands for, `None` when no profile describes it.

    Configs are compared as JSON values, so spacing and key order do not matter.

    Raises:
        InvalidSpeculativeConfigError: The text is neither empty nor a JSON object.
    """
    config = parse(text)
    return next((each for each in profiles if parse(render(each)) == config), None)


def _short(text: str, limit: int = 80) -> str:
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
