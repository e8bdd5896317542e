"""What the real engine is asked, beside what ridgeline says of it before.

A case is a command line of `vllm serve`. What ridgeline says of it is not written here: it comes
from the contract of the release, by the checks that `ridgeline lint` and the operator use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.engine.args_reading import ArgsError, config_in_force
from ridgeline.engine.check_all import findings_of
from ridgeline.engine.check_model_config import checked_model
from ridgeline.engine.check_subject import CheckedModel, Subject
from ridgeline.engine.contract import (
    EngineContract,
    KeyContract,
    KeyType,
    KeyUse,
    contract_of,
)
from ridgeline.engine.findings import Severity
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, Profile
from ridgeline.engine.spelling import spellings_of, words_of
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.terms.methods import Method
from tests.engine.environment import VERSION, home, model

CONTRACT: Final = contract_of(load_engine_contracts(), VERSION)
USUAL: Final = ("--max-model-len", "1024", "--max-num-seqs", "64", "--enforce-eager")


DRAFT: Final[dict[str, object]] = {
    "method": "draft_model",
    "model": model("draft"),
    "num_speculative_tokens": 4,
}
EAGLE: Final[dict[str, object]] = {
    "method": "eagle",
    "model": model("eagle"),
    "num_speculative_tokens": 4,
}
NGRAM: Final[dict[str, object]] = {"method": "ngram", "num_speculative_tokens": 4}
MTP: Final[dict[str, object]] = {"method": "mtp", "num_speculative_tokens": 1}


def contract_for(version: str) -> EngineContract:
    """Return what a release accepts."""
    return contract_of(load_engine_contracts(), version)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One command line.

    Attributes:
        name: Its name.
        words: Its arguments after the model and the usual ones.
        target: The served model.
        draft: The head or draft model that its config names, where its `config.json` is told to
            the checks.
    """

    name: str
    words: tuple[str, ...]
    target: str = "target"
    draft: str | None = None

    @property
    def command(self) -> list[str]:
        """The arguments after `vllm serve`."""
        return [model(self.target), *USUAL, *self.words]


def profiles() -> tuple[tuple[Profile, str], ...]:
    """Return one profile for each method that can be served here, with its target."""
    rows = ((1, 8, 4), (9, 16, 2), (17, 64, 0))
    told: tuple[dict[str, Any], ...] = (
        {"name": "none", "method": Method.DISABLED},
        {"name": "draft-k4", "method": Method.DRAFT_MODEL, "model": model("draft"), "k": 4},
        {
            "name": "draft-table",
            "method": Method.DRAFT_MODEL,
            "model": model("draft"),
            "k": 4,
            "schedule": rows,
        },
        {"name": "eagle-k3", "method": Method.EAGLE, "model": model("eagle"), "k": 3},
        {"name": "eagle3-k3", "method": Method.EAGLE3, "model": model("eagle3"), "k": 3},
        {
            "name": "ngram-k4",
            "method": Method.NGRAM,
            "k": 4,
            "prompt_lookup_min": 2,
            "prompt_lookup_max": 4,
        },
        {"name": "mtp-k1", "method": Method.MTP, "k": 1},
    )
    made = []
    for each in told:
        lookahead = each.pop("k", None)
        profile = Profile(num_speculative_tokens=lookahead, **each)
        made.append((profile, "target-mtp" if profile.method is Method.MTP else "target"))
    return tuple(made)


def rendered(contract: EngineContract = CONTRACT) -> Iterator[Case]:
    """Yield every profile that a release serves, in every spelling that it reads."""
    for profile, target in profiles():
        if profile.method not in contract.methods:
            continue
        if profile.schedule is not None and not contract.honours_schedule:
            continue
        for spelling in spellings_of(contract):
            words = words_of(profile, spelling, contract)
            yield Case(name=f"{profile.name} {spelling.value}", words=words, target=target)


def written_by_hand() -> Iterator[Case]:
    """Yield what people get wrong, and what looks wrong and is not."""
    draft, ngram = DRAFT, NGRAM
    table = "num_speculative_tokens_per_batch_size"
    configs: dict[str, dict[str, object]] = {
        "lookahead of 0": {**draft, "num_speculative_tokens": 0},
        "lookahead below 0": {**draft, "num_speculative_tokens": -1},
        "lookahead of a text": {**draft, "num_speculative_tokens": "four"},
        "no lookahead": {"method": "draft_model", "model": model("draft")},
        "no model": {"method": "eagle", "num_speculative_tokens": 3},
        "nothing at all": {},
        "key misspelt": {**draft, "num_speculative_tokrns": 4},
        "key of another release": {**draft, "disable_by_batch_size": 16},
        "method misspelt": {**draft, "method": "draft-model"},
        "method unknown": {**draft, "method": "telepathy"},
        "method of MTP without layers": {"method": "mtp", "num_speculative_tokens": 1},
        "suffix without its package": {"method": "suffix", "num_speculative_tokens": 8},
        "n-grams the wrong way round": {**ngram, "prompt_lookup_min": 5, "prompt_lookup_max": 2},
        "n-grams of 0": {**ngram, "prompt_lookup_max": 0},
        "table with a gap": {**draft, table: [[1, 8, 4], [17, 64, 1]]},
        "table from 2": {**draft, table: [[2, 8, 4]]},
        "table that overlaps": {**draft, table: [[1, 8, 4], [8, 64, 1]]},
        "table backwards": {**draft, table: [[9, 64, 1], [1, 8, 4]]},
        "table of pairs": {**draft, table: [[1, 4]]},
        "table empty": {**draft, table: []},
        "table above the lookahead": {**draft, table: [[1, 64, 9]]},
        "table below 0": {**draft, table: [[1, 64, -1]]},
        "table of texts": {**draft, table: "1-8:4"},
        "tensor_parallel_size": {**draft, "tensor_parallel_size": 1},
        "draft over two GPUs": {**draft, "draft_tensor_parallel_size": 2},
        "typical acceptance": {**draft, "acceptance_method": "typical_acceptance_sampler"},
        "key in dashes": {"method": "ngram", "num-speculative-tokens": 4},
    }
    for name, config in configs.items():
        words = (f"--speculative-config={json.dumps(config)}",)
        named = "draft" if config.get("model") else None
        yield Case(name=name, words=words, draft=named)
    other = {**draft, "model": model("draft-other-vocabulary")}
    yield Case(
        name="another vocabulary",
        words=(f"--speculative-config={json.dumps(other)}",),
        draft="draft-other-vocabulary",
    )
    for name, text in {
        "an empty value": "",
        "no JSON": '{"method":',
        "quotes doubled by a template": '{""method"":""ngram""}',
        "an unexpanded variable": "$(SPECULATION_CONFIG)",
        "a list": "[1]",
        "a number that is none": '{"method":"ngram","num_speculative_tokens":NaN}',
    }.items():
        yield Case(name=name, words=(f"--speculative-config={text}",))


def by_key(contract: EngineContract = CONTRACT) -> Iterator[Case]:
    """Yield each key of the contract with values of the right type, and with wrong ones."""
    for key in contract.keys.values():
        if key.name in _ESSENTIAL or key.type is KeyType.OBJECT:
            continue
        for what, value in (*_right(key), *_wrong(key)):
            yield _with_key(DRAFT, key, what, value)
        if key.use is KeyUse.EXTRA:
            for config in (NGRAM, EAGLE, MTP):
                for what, value in _right(key):
                    yield _with_key(config, key, what, value)


def _with_key(config: dict[str, object], key: KeyContract, what: str, value: object) -> Case:
    method = str(config["method"])
    return Case(
        name=f"{method}, {key.name}: {what}",
        words=(f"--speculative-config={json.dumps({**config, key.name: value})}",),
        target="target-mtp" if method == "mtp" else "target",
        draft="draft" if method == "draft_model" else None,
    )


_ESSENTIAL: Final = frozenset({"method", "model", "num_speculative_tokens"})


def _right(key: KeyContract) -> Iterator[tuple[str, object]]:
    low = key.minimum if key.minimum is not None else 1
    texts = key.choices or _TEXTS.get(key.name, ())
    right: dict[KeyType, tuple[object, ...]] = {
        KeyType.WHOLE: (int(low),),
        KeyType.NUMBER: (float(low),),
        KeyType.SWITCH: (False, True),
        KeyType.NUMBERS: ([0.5],),
        KeyType.TABLE: ([[1, 64, 2]],),
        KeyType.TEXT: tuple(texts),
    }
    for value in right[key.type]:
        yield json.dumps(value), value


def _wrong(key: KeyContract) -> Iterator[tuple[str, object]]:
    numbers = key.type in (KeyType.WHOLE, KeyType.NUMBER)
    yield "wrong type", "many" if numbers or key.type is KeyType.NUMBERS else 7
    if key.minimum is not None and numbers:
        low = key.minimum - 1
        yield "too low", int(low) if key.type is KeyType.WHOLE else low
    if key.choices:
        yield "no such choice", "no-such-choice"


_TEXTS: Final[dict[str, tuple[str, ...]]] = {
    "revision": ("main",),
    "moe_backend": ("auto",),
    "attention_backend": ("CPU_ATTN",),
    "kv_cache_dtype": ("auto",),
}
"""Values that the engine knows, of keys that take only some and whose contract names none."""


def cases_of(version: str) -> tuple[Case, ...]:
    """Return every case of a release."""
    contract = contract_for(version)
    return (*rendered(contract), *written_by_hand(), *by_key(contract))


def said_before(case: Case, contract: EngineContract = CONTRACT) -> str | None:
    """Return why ridgeline would not let a server start with this, `None` when it would.

    What it refuses although the engine would take it counts as well: `STRICTER` names it.
    """
    words = case.command
    try:
        config = config_in_force(words, contract=contract)
    except (ArgsError, InvalidSpeculativeConfigError) as error:
        return str(error)
    draft = None if case.draft is None else _checked(case.draft)
    subject = Subject(
        contract=contract,
        config=config,
        words=tuple(words),
        target=_checked(case.target),
        draft=draft,
    )
    worst = next(iter(findings_of(subject)), None)
    if worst is None or worst.severity is not Severity.ERROR:
        return None
    return worst.sentence()


def _checked(name: str) -> CheckedModel:
    text = (home() / "models" / name / "config.json").read_text()
    return checked_model(json.loads(text), name=name)


_IDLE: Final = "the engine looks at the key with its own method alone, where it would refuse it"

STRICTER: Final = {
    "draft_model, suffix_decoding_max_cached_requests: too low": _IDLE,
    "draft_model, suffix_decoding_max_spec_factor: too low": _IDLE,
    "draft_model, suffix_decoding_max_tree_depth: too low": _IDLE,
    "draft_model, suffix_decoding_min_token_prob: too low": _IDLE,
    "ngram, dspark_draft_topk: 1": "the key has no effect with this method",
    "ngram, xpress_topc: 0": "the key has no effect with this method",
}
"""Cases that ridgeline refuses although the engine takes them, and why."""

_RUNNER: Final = "it needs Model Runner V2, which vLLM does not choose on CPU"

KNOWN_LATER: Final = {
    'eagle, draft_lm_head_quantization: "fp8"': _RUNNER,
    'eagle, draft_lm_head_quantization: "nvfp4"': _RUNNER,
    'mtp, draft_lm_head_quantization: "fp8"': _RUNNER,
    'mtp, draft_lm_head_quantization: "nvfp4"': _RUNNER,
    "suffix without its package": "whether the image has the package is seen at the start alone",
}
"""Cases that the engine refuses and nothing before the start can tell, and why."""
