"""A profile as vLLM's speculative config, and back.

The JSON is what `--speculative-config` takes (vLLM `SpeculativeConfig`; the keys used here are the
same in every release from 0.11 on). An empty text means no speculation: vLLM reads an empty value
so from 0.10.1 on.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from ridgeline.engine.spelling_quotes import on_one_line, repair
from ridgeline.terms.methods import Method

ScheduleRow = tuple[int, int, int]
"""First and last concurrency, lookahead."""

Scalar = str | int | float | bool

VLLM_METHOD: Final[dict[Method, str]] = {
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
        schedule: Lookahead by concurrency, for releases that have such a table; its last and
            highest row goes on for ever.
        extra: Further keys of the config with their values, in any order. Which keys may stand
            here is the release's to say (`engine.spelling_profile`).
    """

    name: str
    method: Method
    model: str | None = None
    num_speculative_tokens: int | None = None
    prompt_lookup_max: int | None = None
    prompt_lookup_min: int | None = None
    acceptance: tuple[float, ...] | None = None
    schedule: tuple[ScheduleRow, ...] | None = None
    extra: tuple[tuple[str, Scalar], ...] = ()


class InvalidSpeculativeConfigError(ValueError):
    """The text is not a JSON object, or the object is no config that ridgeline works with."""


class LoadsCodeError(InvalidSpeculativeConfigError):
    """The config makes the server run code that it was not built with."""


def config_of(profile: Profile) -> dict[str, object]:
    """Return a profile as the object that the server reads; empty for `Disabled`.

    The order of the keys is fixed: method, model, lookahead, n-grams, table, then the extra keys
    by name; that of the table's rows is by concurrency. A whole number is written without a point.
    """
    if not profile.method.speculates:
        return {}
    told: dict[str, object] = {
        "method": VLLM_METHOD[profile.method],
        "model": profile.model,
        "num_speculative_tokens": profile.num_speculative_tokens,
        "prompt_lookup_max": profile.prompt_lookup_max,
        "prompt_lookup_min": profile.prompt_lookup_min,
        "num_speculative_tokens_per_batch_size": None
        if profile.schedule is None
        else [list(row) for row in sorted(profile.schedule)],
    }
    told |= {key: _plain(key, value) for key, value in sorted(profile.extra)}
    return {key: value for key, value in told.items() if value is not None}


def _plain(key: str, value: Scalar) -> Scalar:
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise InvalidSpeculativeConfigError(
            f"speculative config key {key}: {value!r} is no number; give a finite one"
        )
    return int(value) if value.is_integer() else value


def render(profile: Profile) -> str:
    """Return the text of the env item: compact JSON with a fixed key order, or empty.

    The order is fixed so that the same profile always yields the same Pod-template hash.

    Raises:
        InvalidSpeculativeConfigError: An extra key has a value that is not finite.
    """
    return config_text(config_of(profile))


def config_text(config: Mapping[str, object]) -> str:
    """Return a config as compact JSON, its keys in their order; no keys give the empty text."""
    if not config:
        return ""
    return json.dumps(config, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def parse(text: str) -> Mapping[str, object] | None:
    """Return the config that a text carries, `None` for no speculation.

    Raises:
        InvalidSpeculativeConfigError: The text is neither empty nor a JSON object of finite
            numbers.
        LoadsCodeError: The object makes the server run code that it was not built with.
    """
    if not text.strip():
        return None
    try:
        config = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidSpeculativeConfigError(_not_json(text, error)) from error
    except (ValueError, RecursionError) as error:
        # Numbers of thousands of digits and brackets nested as deep are JSON that Python refuses.
        raise InvalidSpeculativeConfigError(
            f"speculative config {_short(text)} cannot be read: a number or the nesting is too long"
        ) from error
    if not isinstance(config, dict):
        raise InvalidSpeculativeConfigError(_not_an_object(text))
    refuse_code(config)
    return config


_LOADS_CODE: Final = frozenset({"code_revision", "draft_load_config"})
"""Keys that load code in any release; releases may have more (`EngineContract.keys`)."""


def refuse_code(config: Mapping[str, object]) -> None:
    """Refuse a config that makes the server of any release run code from elsewhere.

    Releases before those that do so ignore such a config or stop at it. What only some releases
    take for code is refused where the release is known (`engine.spelling_profile`).

    Raises:
        LoadsCodeError: Naming the key.
    """
    told = {key.replace("-", "_"): value for key, value in config.items() if value is not None}
    key = min(_LOADS_CODE & told.keys(), default=None)
    if told.get("method") == "custom_class":
        key = "method"
    elif "method" not in told and _is_class_path(told.get("model")):
        key = "model"
    if key is None:
        return
    way_out = {
        "method": "name a method that the engine brings along",
        "model": "name a method as well, and a model with its organisation or path",
    }.get(key, "remove the key")
    raise LoadsCodeError(
        f"speculative config key {key}: {_short(str(told[key]))} makes the server run code that "
        f"is not its own; {way_out}"
    )


def _is_class_path(model: object) -> bool:
    parts = model.split(".") if isinstance(model, str) else ()
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


class _NotFiniteError(json.JSONDecodeError):
    """A number that is JSON to Python, and none."""


def _refuse_number(text: str) -> NoReturn:
    raise _NotFiniteError(f"the number {text[:20]} is not finite", text, 0)


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse_number(text)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_number, parse_float=_finite)


def _not_json(text: str, error: json.JSONDecodeError) -> str:
    if isinstance(error, _NotFiniteError):
        return f"speculative config {_short(text)} is not JSON ({error.msg})"
    fixed = repair(text)
    if fixed is None:
        return (
            f"speculative config {_short(text)} is not JSON ({error.msg} at column {error.colno})"
        )
    return (
        f"speculative config {_short(text, 60)} is not JSON: {fixed.what}; "
        f"write {on_one_line(fixed.text)}"
    )


def _not_an_object(text: str) -> str:
    fixed = repair(text)
    if fixed is None:
        return f"speculative config {_short(text)} is JSON, but not an object"
    return (
        f"speculative config {_short(text, 60)} is JSON, but not an object: {fixed.what}; "
        f"write {on_one_line(fixed.text)}"
    )


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
