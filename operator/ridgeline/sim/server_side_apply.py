"""What the API server says to a server-side apply of a profile or a status, and what it does.

One manager owns a leaf when it applied or forced it. An apply without force that would change a
leaf of another manager is a conflict; one that repeats its value shares it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ridgeline.cluster.errors import (
    AnotherObjectError,
    ClusterError,
    Conflict,
    FieldConflictError,
    NotFoundError,
    RefusedError,
    StaleVersionError,
)
from ridgeline.cluster.marker import ArgsMark, marker_of
from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.target import ProfileWrite, marker_text
from ridgeline.engine.args_given import with_given
from ridgeline.engine.container import Container, EnvItem
from ridgeline.sim.bodies import (
    ANNOTATION_PATH,
    LABEL_PATH,
    PAUSED_PATH,
    args_path,
    env_path,
)
from ridgeline.sim.template import Template
from ridgeline.sim.workload import Workload
from ridgeline.terms.names import (
    PROFILE_ENV,
    PROFILE_MANAGER,
    SERVING_KIND,
)


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
    if write.args is not None:
        yield args_path(write.container), container.args != write.args.words
    else:
        values = [item.value for item in container.env if item.name == PROFILE_ENV]
        yield env_path(write.container), values != [write.config]
    if write.profile is not None:
        yield LABEL_PATH, workload.template.profile != write.profile
    yield ANNOTATION_PATH, workload.marker != marker_text(write)
    if write.canary is not None:
        yield PAUSED_PATH, not workload.paused


def _conflicts(write: ProfileWrite, workload: Workload) -> Iterator[Conflict]:
    for path, changes in _leaves(write, workload):
        others = workload.owners.get(path, set()) - {PROFILE_MANAGER}
        if changes and path != args_path(write.container):  # that one is forced
            yield from (Conflict(manager=each, field=path) for each in sorted(others))


def template_with(write: ProfileWrite, template: Template) -> Template:
    """Return the template with the profile in it."""
    return replace(
        template,
        containers=tuple(
            _with_profile(each, write) if each.name == write.container else each
            for each in template.containers
        ),
        profile=template.profile if write.profile is None else write.profile,
    )


def _with_profile(container: Container, write: ProfileWrite) -> Container:
    if write.args is None:
        return _with_item(container, write.config)
    return replace(container, args=write.args.words)


def _with_item(container: Container, text: str) -> Container:
    item = EnvItem(name=PROFILE_ENV, value=text)
    if any(each.name == PROFILE_ENV for each in container.env):
        env = tuple(item if each.name == PROFILE_ENV else each for each in container.env)
    else:
        env = (*container.env, item)
    return replace(container, env=env)


def take(write: ProfileWrite, workload: Workload, template: Template, now: float) -> bool:
    """Carry an apply out; return whether the object is another one by it."""
    if write.profile is None and _give_up(workload, LABEL_PATH):
        template = replace(template, profile=None)
    leaves = list(_leaves(write, workload))
    changed = any(changes for _, changes in leaves)
    for path, changes in leaves:
        owners = workload.owners.setdefault(path, set())
        if changes:
            owners.clear()
        owners.add(PROFILE_MANAGER)
    workload.marker = marker_text(write)
    paused = workload.paused
    if write.canary is not None:
        workload.paused = True
    else:
        _give_up(workload, PAUSED_PATH)
    if template != workload.template or paused != workload.paused:
        workload.template = template
        workload.touch(now, PROFILE_MANAGER)
        return True
    if changed:
        workload.version = workload.next_version()
    return changed


def give_up_all(workload: Workload, now: float) -> bool:
    """Carry out an apply that names nothing; return whether the object is another one by it."""
    template, paused, before = workload.template, workload.paused, workload.marker
    found = marker_of(workload.marker)
    mark = found.args if found is not None else None
    for container in template.containers:
        if _give_up(workload, args_path(container.name)):
            template = _with_container(template, _handed_back(container, mark))
        if _give_up(workload, env_path(container.name)):
            env = tuple(each for each in container.env if each.name != PROFILE_ENV)
            template = _with_container(template, replace(container, env=env))
    if _give_up(workload, LABEL_PATH):
        template = replace(template, profile=None)
    if _give_up(workload, ANNOTATION_PATH):
        workload.marker = None
    _give_up(workload, PAUSED_PATH)
    if template != workload.template or paused != workload.paused:
        workload.template = template
        workload.touch(now, PROFILE_MANAGER)
        return True
    if workload.marker != before:
        workload.version = workload.next_version()
    return workload.marker != before


def _handed_back(container: Container, mark: ArgsMark | None) -> Container:
    """Return a container whose list is its maker's again (`cluster.hand_back`)."""
    given = mark.given if mark is not None and mark.container == container.name else ()
    return replace(container, args=with_given(container.args, given))


def _with_container(template: Template, container: Container) -> Template:
    containers = tuple(
        container if each.name == container.name else each for each in template.containers
    )
    return replace(template, containers=containers)


def _give_up(workload: Workload, path: str) -> bool:
    """Give a leaf up; tell whether that takes it out, since nobody else owns it."""
    owners = workload.owners.get(path, set())
    if PROFILE_MANAGER not in owners:
        return False
    owners.discard(PROFILE_MANAGER)
    if path == PAUSED_PATH and not owners:
        workload.paused = False
    return not owners


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
