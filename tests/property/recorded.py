"""Strategies for what a record holds: any value that the types allow, built from their hints.

New fields of facts, settings and memory are covered the moment they exist. Numbers are finite, as
facts promise; texts hold no addresses.
"""

import dataclasses
from collections.abc import Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from ridgeline.costmodel.curve import Curve
from ridgeline.costmodel.table import Band, CutoffRow, CutoffTable
from ridgeline.policy.settings import Stabilization
from ridgeline.telemetry.record import RecordedTick

finite = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(codec="utf-8", exclude_characters=":"), max_size=8)
seconds = st.floats(min_value=0.0, max_value=1e6)
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    float: finite,
    int: st.integers(-(2**40), 2**40),
    str: texts,
    bool: st.booleans(),
    NoneType: st.none(),
}

curves = st.lists(seconds.filter(bool), min_size=1, max_size=4, unique=True).map(
    lambda points: Curve(
        profile="eagle2",
        concurrency=tuple(sorted(points)),
        tokens_per_second=tuple(sorted(points)),
    )
)
edges = st.lists(seconds.filter(bool), min_size=3, max_size=3).map(sorted)
tables = st.builds(
    lambda edge, told, reasons: CutoffTable(
        (
            CutoffRow(
                profile="eagle2",
                up_to=edge[1],
                return_below=edge[0],
                band=Band(cutoff=edge[1], low=edge[0], high=edge[2]),
            ),
            CutoffRow(profile="none"),
        ),
        reasons=tuple(reasons),
        curves=tuple(told),
    ),
    edges,
    st.lists(curves, max_size=2),
    st.lists(texts, max_size=2),
)
MADE: dict[Any, st.SearchStrategy[Any]] = {
    CutoffTable: tables,
    Stabilization: st.builds(Stabilization, busier_seconds=seconds, quieter_seconds=seconds),
}
"""Types that refuse some values."""


CALM = SIMPLE | {float: st.floats(min_value=1.0, max_value=1e6)}
"""What types that check their values are likely to take."""


def any_of(kind: Any, simple: dict[Any, st.SearchStrategy[Any]] = SIMPLE) -> st.SearchStrategy[Any]:
    """Any value of a type, every field of a dataclass drawn, those with defaults too."""
    if kind in simple or kind in MADE:
        return (simple | MADE)[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, CALM if hasattr(kind, "__post_init__") else simple)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return st.one_of(*(any_of(each, simple) for each in arguments))
    if origin is tuple:
        if arguments[1:] == (Ellipsis,):
            return st.lists(any_of(arguments[0], simple), max_size=2).map(tuple)
        return st.tuples(*(any_of(each, simple) for each in arguments))
    if origin in (dict, Mapping):
        return st.dictionaries(*(any_of(each, simple) for each in arguments), max_size=3)
    raise TypeError(f"no strategy for {kind}: add one to tests/property/recorded.py")


def _dataclass(kind: Any, simple: dict[Any, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    fields = {each.name: any_of(hints[each.name], simple) for each in dataclasses.fields(kind)}
    needed = {
        each.name
        for each in dataclasses.fields(kind)
        if each.default is each.default_factory is dataclasses.MISSING
    }

    def made(values: dict[str, Any]) -> Any:
        try:
            return kind(**values)
        except ValueError:
            # A type that refuses this mixture takes its defaults.
            return kind(**{name: values[name] for name in needed})

    return st.fixed_dictionaries(fields).map(made)


any_tick = any_of(RecordedTick)
