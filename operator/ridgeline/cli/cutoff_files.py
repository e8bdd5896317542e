"""A serving and what surrounds it, read from YAML files in place of a cluster."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from ridgeline.api.errors import InvalidServing
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.cli.lint_yaml import NOT_A_VALUE, not_a_value
from ridgeline.cluster.objects import (
    DeploymentObject,
    ServingObject,
    trim_deployment,
    trim_serving,
)
from ridgeline.cluster.surroundings import NodeObject, Surroundings, trim_spec
from ridgeline.controller.view import spec_of
from ridgeline.policy.placement import Node
from ridgeline.terms.names import ACCELERATOR_KIND, POLICY_KIND, SERVING_KIND

_NOWHERE: Final = ""
"""Namespace of what comes from files: they stand beside each other whatever they say."""

_LARGEST: Final = 4 * 1024 * 1024
"""Bytes of a file that is read. etcd takes objects of 1.5 MiB at most, and few belong together."""

Trimmed = TypeVar("Trimmed")


class FilesError(ValueError):
    """The files do not hold what is needed; the message says what, and what to do."""


class UnreadableFileError(FilesError):
    """A file is not there, may not be read, or is not YAML: wrong usage, as of an option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FromFiles:
    """What files tell.

    Attributes:
        serving: The serving.
        spec: Its spec.
        deployment: Its target; `None` when no file has it.
        around: Policies, AcceleratorProfiles, and the node that the target's selector describes.
    """

    serving: ServingObject
    spec: SpeculativeServingSpec
    deployment: DeploymentObject | None
    around: Surroundings


def read_files(paths: Sequence[Path], name: str | None, overrides: Mapping[str, Any]) -> FromFiles:
    """Read a serving with its Deployment, policy and AcceleratorProfiles.

    Args:
        paths: YAML files, each with any number of documents.
        name: The serving that is wanted; `None` when they hold one.
        overrides: Fields of its spec that a person says otherwise: `accelerator`, `model`.

    Raises:
        FilesError: A file cannot be read, or there is not exactly one serving.
    """
    bodies = [body for path in paths for body in bodies_of(path)]
    body = _serving(bodies, name, paths)
    serving = _overridden(_trimmed(body, trim_serving), overrides)
    try:
        spec = spec_of(serving)
    except InvalidServing as error:
        raise FilesError(f"SpeculativeServing {serving.name}: {error}") from error
    deployment = _deployment(bodies, spec.target_ref.name)
    return FromFiles(
        serving=serving,
        spec=spec,
        deployment=deployment,
        around=_around(bodies, deployment),
    )


def _text(path: Path) -> str:
    """Return a file's text; what has no end, or is far too large, is not read."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise UnreadableFileError(
            f"--file {path} is no regular file: save what it holds to a file first"
        )
    with path.open("rb") as opened:
        raw = opened.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise UnreadableFileError(
            f"--file {path} is larger than {_LARGEST >> 20} MiB: give the serving and what belongs "
            "to it alone"
        )
    return raw.decode("utf-8")


def bodies_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a YAML file, those of a list one by one.

    Raises:
        UnreadableFileError: It cannot be read, or is not YAML.
    """
    try:
        found = list(yaml.safe_load_all(_text(path)))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UnreadableFileError(f"--file {path} cannot be read: {why}") from error
    except yaml.YAMLError as error:
        told = " ".join(str(error).split())
        raise UnreadableFileError(f"--file {path} is not YAML: {told}") from error
    except NOT_A_VALUE as error:
        raise UnreadableFileError(f"--file {path} cannot be read: {not_a_value(error)}") from error
    for each in found:
        if not isinstance(each, dict):
            continue
        items = each.get("items") if each.get("kind") == "List" else None
        yield from (one for one in (items or [each]) if isinstance(one, dict))


def _serving(
    bodies: Sequence[dict[str, Any]], name: str | None, paths: Sequence[Path]
) -> dict[str, Any]:
    where = ", ".join(map(str, paths))
    found = [each for each in bodies if each.get("kind") == SERVING_KIND]
    names = [_name(each) for each in found]
    if not found:
        raise FilesError(f"--file {where}: there is no {SERVING_KIND} in it")
    if name is None and len(found) > 1:
        raise FilesError(
            f"--file {where} holds {len(found)} servings: name one of {', '.join(names)} with "
            "--serving"
        )
    wanted = names[0] if name is None else name
    if wanted not in names:
        raise FilesError(f"--serving {wanted}: --file {where} has {', '.join(names)}")
    return found[names.index(wanted)]


def _name(body: Mapping[str, Any]) -> str:
    metadata = body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str) or not name:
        raise FilesError(f"a {body.get('kind', 'document')} has no metadata.name: set it")
    return name


def _placed(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body with what the API server would have added; it tells nothing here."""
    name = _name(body)
    added = {
        "uid": name,
        "resourceVersion": "1",
        "creationTimestamp": "1970-01-01T00:00:00Z",
        "namespace": _NOWHERE,
    }
    return {**body, "metadata": {**body["metadata"], **added}}


def _trimmed(body: Mapping[str, Any], trim: Callable[[dict[str, Any]], Trimmed]) -> Trimmed:
    """Trim an object of a file, which no API server has looked at."""
    placed = _placed(body)
    try:
        return trim(placed)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FilesError(
            f"{body.get('kind')} {_name(body)} cannot be read ({error!r}): give it as kubectl "
            "apply takes it"
        ) from error


def _overridden(serving: ServingObject, overrides: Mapping[str, Any]) -> ServingObject:
    spec = dict(serving.spec)
    for field, value in overrides.items():
        before = spec.get(field)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            spec[field] = {**before, **value}
        else:
            spec[field] = value
    return replace(serving, spec=spec)


def _deployment(bodies: Sequence[dict[str, Any]], name: str) -> DeploymentObject | None:
    found = (each for each in bodies if each.get("kind") == "Deployment" and _name(each) == name)
    body = next(found, None)
    return None if body is None else _trimmed(body, trim_deployment)


def _around(bodies: Sequence[dict[str, Any]], deployment: DeploymentObject | None) -> Surroundings:
    around = Surroundings(sees_all_pods=False)
    for body in bodies:
        if body.get("kind") == POLICY_KIND:
            around.put_policy(_trimmed(body, trim_spec))
        elif body.get("kind") == ACCELERATOR_KIND:
            around.accelerators.put(_trimmed(body, trim_spec))
    if deployment is not None and deployment.shape.needs.node_selector:
        needs = deployment.shape.needs
        # The node that the scheduler would look for; its labels may tell the GPU.
        node = Node(name="node", labels=needs.node_selector, allocatable=needs.requests)
        around.nodes.put(NodeObject(name="node", uid="node", resource_version="1", node=node))
    return around
