"""What the API server says to a server-side apply of a profile or a status, and what it does.

One manager owns a leaf when it applied or forced it. An apply without force that would change a
leaf of another manager is a conflict; one that repeats its value shares it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ridgeline.cluster.errors import (
    AnotherObjectError,
    ClusterError,
    Conflict,
    FieldConflictError,
    NotFoundError,
    RefusedError,
    StaleVersionError,
)
from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.target import ProfileWrite, marker
from ridgeline.engine.container import Container, EnvItem
from ridgeline.sim.workload import Template, Workload
from ridgeline.terms.names import (
    PROFILE_ENV,
    PROFILE_LABEL,
    PROFILE_MANAGER,
    SERVING_ANNOTATION,
    SERVING_KIND,
)

_LABEL_PATH: Final = f".spec.template.metadata.labels.{PROFILE_LABEL}"
_ANNOTATION_PATH: Final = f".metadata.annotations.{SERVING_ANNOTATION}"


def env_path(container: str) -> str:
    """Return the path of the env item's value, as the API server writes it."""
    containers = f'.spec.template.spec.containers[name="{container}"]'
    return f'{containers}.env[name="{PROFILE_ENV}"].value'


def objection(
    write: ProfileWrite,
    workload: Workload | None,
    admission: Callable[[ProfileWrite], str | None],
) -> ClusterError | None:
    """Return the error that an apply of a profile is answered with, `None` when it is taken."""
    found = workload.uid if workload is not None else ""
    if workload is None or found != write.uid:
        # Also when nothing is there: an apply that names a uid never creates.
        return AnotherObjectError(
            f'Operation cannot be fulfilled on deployments.apps "{write.deployment}": '
            f"Precondition failed: UID in precondition: {write.uid}, UID in object meta: {found}"
        )
    if write.resource_version != str(workload.version):
        return StaleVersionError(
            f'Operation cannot be fulfilled on deployments.apps "{write.deployment}": the object '
            "has been modified; please apply your changes to the latest version and try again"
        )
    if write.container not in {each.name for each in workload.template.containers}:
        return RefusedError(
            f'Deployment.apps "{write.deployment}" is invalid: spec.template.spec.containers: '
            "image: Required value"
        )
    conflicts = tuple(_conflicts(write, workload))
    if conflicts:
        told = "\n".join(f'- conflict with "{each.manager}": {each.field}' for each in conflicts)
        return FieldConflictError(
            f"Apply failed with {len(conflicts)} conflict(s):\n{told}", conflicts
        )
    refused = admission(write)
    return None if refused is None else RefusedError(refused)


def _leaves(write: ProfileWrite, workload: Workload) -> Iterator[tuple[str, bool]]:
    """Yield each leaf of the apply, and whether it changes it."""
    container = next(each for each in workload.template.containers if each.name == write.container)
    values = [item.value for item in container.env if item.name == PROFILE_ENV]
    yield env_path(write.container), values != [write.config]
    yield _LABEL_PATH, workload.template.profile != write.profile
    yield _ANNOTATION_PATH, workload.marker != marker(write.serving)


def _conflicts(write: ProfileWrite, workload: Workload) -> Iterator[Conflict]:
    for path, changes in _leaves(write, workload):
        others = workload.owners.get(path, set()) - {PROFILE_MANAGER}
        if changes:
            yield from (Conflict(manager=each, field=path) for each in sorted(others))


def template_with(write: ProfileWrite, template: Template) -> Template:
    """Return the template with the profile in it."""
    return Template(
        containers=tuple(
            _with_item(each, write.config) if each.name == write.container else each
            for each in template.containers
        ),
        profile=write.profile,
    )


def _with_item(container: Container, text: str) -> Container:
    item = EnvItem(name=PROFILE_ENV, value=text)
    if any(each.name == PROFILE_ENV for each in container.env):
        env = tuple(item if each.name == PROFILE_ENV else each for each in container.env)
    else:
        env = (*container.env, item)
    return replace(container, env=env)


def take(write: ProfileWrite, workload: Workload, template: Template, now: float) -> bool:
    """Carry an apply out; return whether the object is another one by it."""
    changed = any(changes for _, changes in _leaves(write, workload))
    for path, _ in list(_leaves(write, workload)):
        workload.owners.setdefault(path, set()).add(PROFILE_MANAGER)
    workload.marker = marker(write.serving)
    if template != workload.template:
        workload.template = template
        workload.touch(now, PROFILE_MANAGER)
    elif changed:
        workload.version = workload.next_version()
    return changed


def status_objection(
    serving: ServingObject, current: ServingObject | None, status: Mapping[str, Any]
) -> ClusterError | None:
    """Return the error that an apply of a status is answered with, `None` when it is taken."""
    if current is None:
        return NotFoundError(f'speculativeservings.ridgeline.dev "{serving.name}" not found')
    if current.uid != serving.uid:
        return AnotherObjectError(
            f'Operation cannot be fulfilled on {SERVING_KIND} "{serving.name}": Precondition '
            f"failed: UID in precondition: {serving.uid}, UID in object meta: {current.uid}"
        )
    try:
        json.dumps(status, allow_nan=False)
    except ValueError as error:
        return RefusedError(f"error decoding the status: {error}")
    return None
