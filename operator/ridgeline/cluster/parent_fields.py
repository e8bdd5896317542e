"""What we own in a parent: an env item, a label and an annotation for its Pods. Calls nothing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ridgeline.cluster import managed_fields
from ridgeline.cluster.errors import Conflict, FieldConflictError, RefusedError
from ridgeline.cluster.parents import ParentAdapter
from ridgeline.terms.names import PROFILE_ENV, PROFILE_LABEL, PROFILE_MANAGER, SERVING_ANNOTATION

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OurFields:
    """The values of all that we own in a parent.

    Attributes:
        config: Value of the env item; `None` for no item.
        label: Value of the label for its Pods.
        annotation: Value of the annotation for its Pods.
    """

    config: str | None
    label: str
    annotation: str

    def body(self, adapter: ParentAdapter) -> Json:
        """Return the part of an apply below the metadata."""
        told = {
            "labels": {PROFILE_LABEL: self.label},
            "annotations": {SERVING_ANNOTATION: self.annotation},
        }
        body = _nested(adapter.pods, told)
        if self.config is None:
            return body
        env = {"env": [{"name": PROFILE_ENV, "value": self.config}]}
        held = [{"name": adapter.container, **env}] if adapter.by_name else env
        return _merged(body, _nested(adapter.way, held))


def fields_of(body: Json, adapter: ParentAdapter) -> OurFields | None:
    """Return what we own in a parent, `None` when that is nothing."""
    mine = managed_fields.ours(body["metadata"].get("managedFields") or ())
    if not mine:
        return None
    told: Any = body
    for step in adapter.pods:
        told = told.get(step) or {}
    holder = adapter.holder(body) or {}
    items = holder.get("env") or ()
    value = next((each.get("value") or "" for each in items if each["name"] == PROFILE_ENV), None)
    return OurFields(
        config=value if managed_fields.owns(mine, _way_to_item(adapter)) else None,
        label=(told.get("labels") or {}).get(PROFILE_LABEL, ""),
        annotation=(told.get("annotations") or {}).get(SERVING_ANNOTATION, ""),
    )


def judged_alone(body: Json, adapter: ParentAdapter, told: str) -> None:
    """Require of a dry run's answer that we own the one item, and nobody else does.

    Raises:
        RefusedError: The list would be ours as a whole.
        FieldConflictError: Another manager owns the item, too: its next write takes it out.
    """
    entries = body["metadata"].get("managedFields") or ()
    way = _way_to_item(adapter)
    if not managed_fields.owns(managed_fields.ours(entries), way):
        raise RefusedError(_as_a_whole(adapter, told))
    others = tuple(
        Conflict(manager=each.get("manager", ""), field=f'{adapter.place}[name="{PROFILE_ENV}"]')
        for each in entries
        if each.get("manager") != PROFILE_MANAGER
        and not each.get("subresource")
        and managed_fields.owns(each, way)
    )
    if others:
        named = ", ".join(repr(each.manager) for each in others)
        raise FieldConflictError(f"{named} owns the env item {PROFILE_ENV} of {told}, too", others)


@contextmanager
def translated(adapter: ParentAdapter, told: str) -> Iterator[None]:
    """Tell a conflict about one of our fields from one about a list or object as a whole.

    Raises:
        RefusedError: Others own more than our fields in one piece.
        FieldConflictError: Others own one of our fields.
    """
    try:
        yield
    except FieldConflictError as error:
        names = (PROFILE_ENV, PROFILE_LABEL, SERVING_ANNOTATION)
        if all(any(name in each.field for name in names) for each in error.conflicts):
            raise
        raise RefusedError(_as_a_whole(adapter, told)) from error


def _as_a_whole(adapter: ParentAdapter, told: str) -> str:
    return (
        f"the installed CRD of {told} keeps {adapter.place}, or what it lies in, as one value, so "
        "one item of it cannot be owned and an apply would replace the others: install the full "
        f"CRD (KServe's minimal one has no schema), or set {PROFILE_ENV} there by hand"
    )


def _way_to_item(adapter: ParentAdapter) -> tuple[str, ...]:
    steps = tuple(f"f:{step}" for step in adapter.way)
    one = (managed_fields.key_of(adapter.container),) if adapter.by_name else ()
    return (*steps, *one, "f:env", managed_fields.key_of(PROFILE_ENV))


def _nested(way: tuple[str, ...], value: Any) -> dict[str, Any]:
    for step in reversed(way):
        value = {step: value}
    found: dict[str, Any] = value
    return found


def _merged(one: Json, other: Json) -> dict[str, Any]:
    both = dict(one)
    for key, value in other.items():
        mine = both.get(key)
        nested = isinstance(mine, Mapping) and isinstance(value, Mapping)
        both[key] = _merged(mine, value) if nested and mine is not None else value
    return both
