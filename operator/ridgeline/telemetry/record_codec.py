"""Pure: frozen dataclasses to JSON and back, without a loss, whatever fields they get later.

msgspec does it for every type that has no choice between two dataclasses. Where there is one
(`TargetFacts | Problem`), the object carries the class's name as `type`. Fields that a reader does
not know are passed over, and fields that a writer did not know take their defaults.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Final, Generic, NamedTuple, TypeVar, Union, get_args, get_origin
from typing import get_type_hints as hints_of

import msgspec

T = TypeVar("T")

TAG: Final = "type"
"""Key that names the class where a field may hold one of several."""


class _Converter(NamedTuple):
    """Both directions of one type."""

    to_plain: Callable[[Any], Any]
    from_plain: Callable[[Any], Any]


class Codec(Generic[T]):
    """Turns values of one dataclass into what `msgspec.json.encode` takes, and JSON into values.

    Raises:
        TypeError: The type holds something that cannot be told apart in JSON.
    """

    def __init__(self, kind: type[T]) -> None:
        hashable: Any = kind
        self._converter = _converter(hashable)

    def to_plain(self, value: T) -> object:
        """Return what `msgspec.json.encode` writes; equal values give equal texts."""
        return self._converter.to_plain(value)

    def from_plain(self, document: object) -> T:
        """Return the value that `to_plain` was given.

        Raises:
            ValueError: The document is no such value; the message names the field.
        """
        try:
            value: T = self._converter.from_plain(document)
        except msgspec.MsgspecError as error:
            raise ValueError(str(error)) from error
        return value


@cache
def _converter(kind: Any) -> _Converter:
    if _native(kind):
        return _Converter(_itself, partial(msgspec.convert, type=kind))
    if dataclasses.is_dataclass(kind):
        return _of_dataclass(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _of_union(arguments)
    if origin is tuple and arguments[1:] == (Ellipsis,):
        return _of_tuple(_converter(arguments[0]))
    raise TypeError(f"{kind} cannot be written to a record: use dataclasses, tuples and None")


def _native(kind: Any) -> bool:
    """Whether msgspec reads the type by itself."""
    try:
        msgspec.json.Decoder(kind)
    except TypeError:
        return False
    return True


def _itself(value: Any) -> Any:
    return value


def _of_dataclass(kind: Any) -> _Converter:
    hints = hints_of(kind)
    fields = {each.name: _converter(hints[each.name]) for each in dataclasses.fields(kind)}

    def to_plain(value: Any) -> Any:
        return {name: each.to_plain(getattr(value, name)) for name, each in fields.items()}

    def from_plain(document: Any) -> Any:
        known = {
            name: _within(name, each, document[name])
            for name, each in fields.items()
            if name in _mapping(document)
        }
        try:
            return kind(**known)
        except TypeError as error:
            raise ValueError(f"{kind.__name__}: a field is missing ({error})") from error

    return _Converter(to_plain, from_plain)


def _within(name: str, converter: _Converter, document: Any) -> Any:
    try:
        return converter.from_plain(document)
    except (ValueError, msgspec.MsgspecError) as error:
        raise ValueError(f"{name}: {error}") from error


def _of_union(members: tuple[Any, ...]) -> _Converter:
    kinds = {each.__name__: each for each in members if each is not NoneType}
    for name, each in kinds.items():
        if not dataclasses.is_dataclass(each):
            raise TypeError(f"a choice of {name} and others cannot be told apart in a record")
        if TAG in {field.name for field in dataclasses.fields(each)}:
            raise TypeError(f"{name} has a field {TAG!r}, which names the class in a record")
    converters = {name: _converter(each) for name, each in kinds.items()}
    may_be_none = NoneType in members

    def to_plain(value: Any) -> Any:
        if value is None:
            return None
        name = type(value).__name__
        return {TAG: name, **_as_mapping(converters[name].to_plain(value))}

    def from_plain(document: Any) -> Any:
        if document is None and may_be_none:
            return None
        name = _mapping(document).get(TAG)
        if name not in converters:
            raise ValueError(f"{TAG} is {name!r:.40}, expected one of {', '.join(converters)}")
        return converters[name].from_plain(document)

    return _Converter(to_plain, from_plain)


def _of_tuple(member: _Converter) -> _Converter:
    def from_plain(document: Any) -> Any:
        if not isinstance(document, list):
            raise ValueError(f"expected a list, found {type(document).__name__}")  # noqa: TRY004
        return tuple(map(member.from_plain, document))

    return _Converter(lambda value: [*map(member.to_plain, value)], from_plain)


def _as_mapping(value: Any) -> Mapping[str, Any]:
    """One level of a value that msgspec would write as an object."""
    if isinstance(value, Mapping):
        return value
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}


def _mapping(document: Any) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise ValueError(f"expected an object, found {type(document).__name__}")  # noqa: TRY004
    return document
