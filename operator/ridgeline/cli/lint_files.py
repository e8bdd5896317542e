"""YAML of files, folders and standard input, as JSON objects with the place where each stands.

Kubernetes reads YAML as JSON, and so does this: keys become texts, and what JSON cannot say becomes
the text of it. A document may be any rubbish; what cannot be read at all is told in one message.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from ridgeline.cli.lint_yaml import (
    NO_OBJECTS,
    NOT_A_VALUE,
    YAML_ENDINGS,
    doubled_key,
    not_a_value,
    not_yaml,
)
from ridgeline.engine.spelling_quotes import on_one_line

STANDARD_INPUT: Final = "-"
_SHOWN_AS: Final = "standard input"

_LARGEST: Final = 32 * 1024 * 1024
"""Bytes of one file: charts of charts come to a few MiB."""

_MOST_VALUES: Final = 1_000_000
"""Values of one document once its aliases are written out."""

_DEEPEST: Final = 100
"""Levels of one document; Kubernetes' own objects have about twenty."""

_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class LintInputError(ValueError):
    """Something that was named cannot be read; the message says what, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an object stands.

    Attributes:
        file: The file as it was named, or `standard input`.
        line: Line on which its document begins, from 1.
        root: The object as it stands there, with the lines of its fields.
    """

    file: str
    line: int
    root: yaml.Node | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One object of a file."""

    place: Place
    body: dict[str, Any]


def documents_of(paths: Sequence[str]) -> tuple[Document, ...]:
    """Return every object of files, of folders with all below them, and of `-`, standard input.

    Lists of objects (`kind: List`) are taken apart; documents that are no objects are left out.

    Raises:
        LintInputError: Something cannot be read, is not YAML, or all of it is empty.
    """
    texts = [(_name(file), text_of(file)) for path in paths for file in _files(path)]
    if texts and not any(text.strip() for _, text in texts):
        one = len(texts) == 1
        raise LintInputError(f"{texts[0][0]}: {'the file is' if one else 'all files are'} empty")
    return tuple(each for name, text in texts for each in _read(name, text))


def plain_yaml(text: str, name: str) -> Any:
    """Return what a YAML text says, as JSON values; the first document of several.

    Raises:
        LintInputError: It is not YAML, or far too large.
    """
    return next((value for _, value in _values(text, name, doubled=True)), None)


def text_of(path: str) -> str:
    """Return the text of a file, or of standard input.

    Raises:
        LintInputError: It cannot be read.
    """
    if path == STANDARD_INPUT:
        raw = sys.stdin.buffer.read(_LARGEST + 1)
    else:
        try:
            with Path(path).open("rb") as opened:
                raw = opened.read(_LARGEST + 1)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise LintInputError(f"{on_one_line(path)} cannot be read: {why}") from error
    if len(raw) > _LARGEST:
        raise LintInputError(
            f"{_name(path)} is larger than {_LARGEST >> 20} MiB: give less at once"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LintInputError(f"{_name(path)} cannot be read: it is not UTF-8") from error


def _files(path: str) -> Iterator[str]:
    if path == STANDARD_INPUT:
        yield path
        return
    try:
        is_folder = Path(path).is_dir()
    except (OSError, ValueError) as error:
        raise LintInputError(f"{on_one_line(path)} is no path") from error
    if not is_folder:
        yield path
        return
    try:
        found = [str(each) for each in sorted(Path(path).rglob("*")) if _is_ours(each, Path(path))]
    except OSError as error:
        raise LintInputError(f"{on_one_line(path)} cannot be read: {error.strerror}") from error
    if not found:
        raise LintInputError(f"{path} holds no file that ends in .yaml, .yml or .json")
    yield from found


def _is_ours(file: Path, folder: Path) -> bool:
    """Tell whether a file below a folder is meant; what is hidden is not (`.git`, `.github`)."""
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.suffix in YAML_ENDINGS and not hidden and file.is_file()


def _read(name: str, text: str) -> Iterator[Document]:
    values = tuple(_values(text, name, doubled=False))
    told = [value for _, value in values if value is not None]
    if told and not any(isinstance(value, dict | list) for value in told):
        raise LintInputError(f"{name} {NO_OBJECTS}")
    for node, value in values:
        for root, body in _objects(node, value):
            place = Place(file=name, line=node.start_mark.line + 1, root=root)
            yield Document(place=place, body=body)


def _name(path: str) -> str:
    return _SHOWN_AS if path == STANDARD_INPUT else on_one_line(path, limit=400)


def _objects(node: yaml.Node, value: Any) -> Iterator[tuple[yaml.Node, dict[str, Any]]]:
    """Yield the objects of a document, each with where it stands in it."""
    if not isinstance(value, dict):
        return
    items = value.get("items")
    kind = value.get("kind")
    if isinstance(items, list) and isinstance(kind, str) and kind.endswith("List"):
        nodes = next((below for key, below in node.value if key.value == "items"), node)
        pairs = zip(nodes.value, items, strict=False)
        yield from ((root, each) for root, each in pairs if isinstance(each, dict))
    else:
        yield node, value


def _values(text: str, name: str, *, doubled: bool) -> Iterator[tuple[yaml.Node, Any]]:
    """Yield each document and its value; of a doubled key, where it may be, the last counts."""
    try:
        loader = _Loader(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                twice = None if doubled else doubled_key(node)
                if twice is not None:
                    raise LintInputError(twice)
                yield node, _plain(loader.construct_document(node))
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise LintInputError(not_yaml(error, text, name)) from error
    except NOT_A_VALUE as error:
        if isinstance(error, LintInputError):
            raise LintInputError(f"{name}: {error}") from error
        raise LintInputError(f"{name} cannot be read: {not_a_value(error)}") from error


def _plain(value: Any) -> Any:
    """Return a value as JSON would have it.

    Raises:
        LintInputError: It is too deep or, with its aliases written out, too large.
    """
    left = _MOST_VALUES

    def plain(each: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise LintInputError(
                f"a document comes to more than {_MOST_VALUES} values once its aliases are written "
                "out: write it without them"
            )
        if depth > _DEEPEST:
            raise LintInputError(f"a document is more than {_DEEPEST} levels deep, or holds itself")
        if isinstance(each, dict):
            return {_key(key): plain(inner, depth + 1) for key, inner in each.items()}
        if isinstance(each, list | tuple | set):
            return [plain(inner, depth + 1) for inner in each]
        return each if _is_json(each) else str(each)

    return plain(value, 0)


def _is_json(value: Any) -> bool:
    finite = not isinstance(value, float) or math.isfinite(value)
    return value is None or (isinstance(value, str | bool | int | float) and finite)


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    return key if isinstance(key, str) else str(key)
