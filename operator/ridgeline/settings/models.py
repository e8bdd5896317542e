"""The catalogue of models: the rows of the data file, found by the names that people write."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ridgeline.costmodel.shape import ModelShape
from ridgeline.settings.model_facts import Latent, Linear, Mixture, ModelFacts, Window
from ridgeline.settings.model_heads import Head
from ridgeline.settings.model_names import last_part, plain_model
from ridgeline.terms.methods import Method

DATA_FILE: Final = "data/models.yaml"

_Size = Annotated[int, Field(ge=1)]
_Billions = Annotated[float, Field(gt=0)]


class _Row(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, allow_inf_nan=False
    )

    name: str
    also: tuple[str, ...] = ()
    hidden: _Size
    intermediate: Annotated[int, Field(ge=0)] = 0
    heads: _Size
    kv_heads: _Size
    head_size: _Size
    vocabulary: _Size
    published_billions: _Billions | None = None
    source: str
    entry: str = ""
    as_of: date
    checked: bool

    def told_by(self, sources: Mapping[str, str]) -> str:
        """Return where the row comes from, in words."""
        if self.source not in sources:
            raise ValueError(
                f"{self.name}: source {self.source!r} is not described under `sources`"
            )
        return f"{sources[self.source]}, {self.entry}" if self.entry else sources[self.source]


class _ModelRow(_Row):
    layers: _Size
    tied: bool = False
    output_gate: bool = False
    latent: Latent | None = None
    linear: Linear | None = None
    window: Window | None = None
    mixture: Mixture | None = None
    mtp_layers: int = 0
    published_active_billions: _Billions | None = None


class _HeadRow(_Row):
    method: Method
    targets: tuple[str, ...]
    own_output: bool = False


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    sources: dict[str, str]
    models: tuple[_ModelRow, ...]
    heads: tuple[_HeadRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """A row of the catalogue.

    Attributes:
        facts: The model's configuration.
        also: Other names of the same shape.
        published_billions: The publisher's own count of parameters, in billions.
        published_active_billions: The publisher's count per token of a mixture of experts.
    """

    facts: ModelFacts
    also: tuple[str, ...] = ()
    published_billions: float | None = None
    published_active_billions: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of the row, its own first."""
        return (self.facts.name, *self.also)


# Compared by identity: the catalogue is built once and asked often.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Models:
    """Every model and draft head that is known.

    Attributes:
        entries: The models.
        heads: The EAGLE and EAGLE-3 heads.
        by_name: Models by their plain names.
    """

    entries: tuple[ModelEntry, ...]
    heads: tuple[Head, ...]
    by_name: Mapping[str, ModelEntry]

    def find(self, name: str) -> ModelEntry | None:
        """Return the model of a name, `None` where the catalogue has none of exactly that."""
        return self.by_name.get(plain_model(name))

    def head(self, name: str, method: Method) -> Head | None:
        """Return the head of a name that is made for a method; `None` where there is none."""
        wanted = last_part(name).casefold()
        return next(
            (
                each
                for each in self.heads
                if each.method is method and last_part(each.name).casefold() == wanted
            ),
            None,
        )

    def head_for(self, target: str, method: Method) -> Head | None:
        """Return a head that was trained for a model; `None` where the catalogue has none."""
        return next(
            (each for each in self.heads if each.method is method and target in each.targets), None
        )


@cache
def load_models() -> Models:
    """Return the catalogue of the data file that comes with the package."""
    text = files("ridgeline.settings").joinpath(DATA_FILE).read_text(encoding="utf-8")
    return parse_models(yaml.safe_load(text))


def parse_models(content: object) -> Models:
    """Return the catalogue that a data file holds.

    Raises:
        ValueError: A row is not as it must be, two have one name, or a head's target has no row.
    """
    data = _File.model_validate(content)
    entries = tuple(_entry(row, data.sources) for row in data.models)
    by_name: dict[str, ModelEntry] = {}
    for plain, entry in _named(entries):
        if by_name.setdefault(plain, entry) is not entry:
            raise ValueError(f"two rows are called {plain!r}: {entry.facts.name} is the second")
    known = {each.facts.name for each in entries}
    for row in data.heads:
        lost = sorted(set(row.targets) - known)
        if lost or not row.targets:
            raise ValueError(f"{row.name}: there is no model {lost[0] if lost else ''!r} to fit")
    heads = tuple(_head(row, data.sources) for row in data.heads)
    return Models(entries=entries, heads=heads, by_name=by_name)


def find_model(name: str) -> ModelShape | None:
    """Return the shape of a model by the name that a person gave it.

    Organisation, case, `-Instruct` and `-Chat`, marks of a precision and the folders of a path do
    not matter. The name of a fine-tune is unknown.
    """
    entry = load_models().find(name)
    return None if entry is None else entry.facts.shape()


def nearest(name: str, count: int = 3) -> tuple[str, ...]:
    """Return the names of the catalogue that look most like this one, for a message."""
    models = load_models()
    close = difflib.get_close_matches(plain_model(name), models.by_name, n=2 * count, cutoff=0.6)
    return tuple(dict.fromkeys(models.by_name[each].facts.name for each in close))[:count]


def _named(entries: tuple[ModelEntry, ...]) -> Iterator[tuple[str, ModelEntry]]:
    for entry in entries:
        for name in entry.names:
            yield plain_model(name), entry


def _entry(row: _ModelRow, sources: Mapping[str, str]) -> ModelEntry:
    told = ("also", "published_billions", "published_active_billions")
    own = {key: getattr(row, key) for key in _ModelRow.model_fields if key in _FACTS}
    return ModelEntry(
        facts=ModelFacts(**{**own, "source": row.told_by(sources), "as_of": row.as_of.isoformat()}),
        **{key: getattr(row, key) for key in told},
    )


_FACTS: Final = frozenset(ModelFacts.__dataclass_fields__)


def _head(row: _HeadRow, sources: Mapping[str, str]) -> Head:
    return Head(
        name=row.name,
        method=row.method,
        targets=row.targets,
        hidden=row.hidden,
        intermediate=row.intermediate,
        heads=row.heads,
        kv_heads=row.kv_heads,
        head_size=row.head_size,
        vocabulary=row.vocabulary,
        own_output=row.own_output,
        published_billions=row.published_billions,
        source=row.told_by(sources),
        as_of=row.as_of.isoformat(),
        checked=row.checked,
    )
