"""Profiles that a release serves, and command lines around them, for the tests beside."""

import math
from typing import Any

from hypothesis import strategies as st

from ridgeline.engine.contract import EngineContract, KeyContract, KeyType, runs_named_class
from ridgeline.engine.speculative_config import VLLM_METHOD, Profile, ScheduleRow
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.terms.methods import Method

RELEASES = load_engine_contracts()
CONTRACTS = st.sampled_from(RELEASES)
MODELS = st.from_regex(r"[A-Za-z0-9._/][A-Za-z0-9._/:@+=,-]{0,30}", fullmatch=True)
WILD_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TEXTS = (
    MODELS | WILD_TEXT | st.sampled_from(["true", "null", "1k", "12", "1e5", "NaN", "$(A)", "-x"])
)
_DRAFTING = frozenset({Method.EAGLE, Method.EAGLE3, Method.DRAFT_MODEL})


@st.composite
def profiles_of(draw: st.DrawFn, contract: EngineContract) -> Profile:
    """Draw a profile that the release serves, with any of its keys."""
    method = draw(st.sampled_from(sorted(contract.methods)))
    if method is Method.DISABLED:
        return Profile(name="p", method=method)
    lookahead = st.integers(1, contract.max_lookahead)
    count = draw(st.none() | lookahead if method in (Method.MTP, Method.SUFFIX) else lookahead)
    shortest = draw(st.none() | st.integers(1, 8)) if method is Method.NGRAM else None
    longest = draw(st.none() | st.integers(shortest or 1, 9)) if method is Method.NGRAM else None
    model = draw(_models(contract, method)) if method not in (Method.NGRAM, Method.SUFFIX) else None
    return Profile(
        name="p",
        method=method,
        model=model,
        num_speculative_tokens=count,
        prompt_lookup_max=longest,
        prompt_lookup_min=shortest,
        schedule=draw(st.none() | schedules()) if contract.honours_schedule else None,
        extra=draw(_extras(contract, VLLM_METHOD[method])),
    )


def _models(contract: EngineContract, method: Method) -> st.SearchStrategy[str | None]:
    name = VLLM_METHOD[method]
    known = MODELS.filter(lambda each: not runs_named_class(contract, method=name, model=each))
    return known if method in _DRAFTING else st.none() | known


@st.composite
def schedules(draw: st.DrawFn) -> tuple[ScheduleRow, ...]:
    """Draw a table that starts at 1 and has neither gaps nor overlaps."""
    lengths = draw(st.lists(st.integers(1, 64), min_size=1, max_size=4))
    rows, first = [], 1
    for length in lengths:
        rows.append((first, first + length - 1, draw(st.integers(0, 32))))
        first += length
    return tuple(rows)


@st.composite
def _extras(draw: st.DrawFn, contract: EngineContract, method: str) -> tuple[tuple[str, Any], ...]:
    fitting = (
        key for key in contract.extra_keys if method in (contract.keys[key].methods or (method,))
    )
    names = st.sampled_from(sorted(fitting))
    chosen = draw(st.lists(names, max_size=3, unique=True))
    return tuple((name, draw(_values(contract.keys[name]))) for name in sorted(chosen))


def _values(key: KeyContract) -> st.SearchStrategy[Any]:
    low, high = key.minimum, key.maximum
    if key.choices:
        return st.sampled_from(key.choices)
    if key.type is KeyType.SWITCH:
        return st.booleans()
    if key.type is KeyType.WHOLE:
        return st.integers(math.ceil(low or 0), 2**40 if high is None else math.floor(high))
    if key.type is KeyType.NUMBER:
        return st.floats(low or 0, 1e9 if high is None else high)
    assert key.type is KeyType.TEXT, key
    return TEXTS


OTHER_WORDS = st.sampled_from(
    [
        *("--model=m", "--port", "8000", "-tp", "2", "--max-num-seqs=64", "--enforce-eager"),
        *("--served-model-name", "a", "b", "org/model", "--speculative-config-file=x", "$$", ""),
        *("--chat-template", "{{ x }} -- {% y %}", "--spec", "--spec-methods=x", "-s", "-scx"),
        *("--override-generation-config", '{"a":1}', "--lora-modules={}", "$(PORT)", "é\n"),
    ]
)
OTHERS = st.lists(OTHER_WORDS, min_size=1, max_size=6)
