"""Who else writes in a simulated cluster: people, charts, autoscalers, GitOps controllers."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from ridgeline.cluster.errors import Conflict, FieldConflictError, RefusedError
from ridgeline.engine.container import Container, EnvItem
from ridgeline.sim.bodies import ANNOTATION_PATH, LABEL_PATH, PAUSED_PATH, args_path, env_path
from ridgeline.sim.fleet_objects import NAMESPACE, SimulatedObjects
from ridgeline.sim.template import Template
from ridgeline.sim.workload import Workload
from ridgeline.terms.names import PROFILE_ENV

HPA_SECONDS: Final = 15.0
"""How often a HorizontalPodAutoscaler looks (kube-controller-manager's default)."""


class SimulatedWriters(SimulatedObjects):
    """The objects of a cluster, and what everybody but the operator does to them."""

    def scale(self, name: str, replicas: int, namespace: str = NAMESPACE) -> None:
        """Scale a Deployment as an autoscaler does: through the scale subresource."""
        workload = self._workload(name, namespace)
        if workload.replicas != replicas:
            workload.replicas = replicas
            # The writer of a subresource is not the writer of the spec.
            workload.touch(self.now, None)
            self._announce(workload)

    def crash_one(
        self, name: str, namespace: str = NAMESPACE, *, exit_code: int = 1, message: str = ""
    ) -> None:
        """Let the server in one Pod of a Deployment die and start anew."""
        workload = self._workload(name, namespace)
        self._tell(workload, workload.crash_one(self.now, exit_code, message))

    def pause(self, name: str, paused: bool, namespace: str = NAMESPACE) -> None:
        """Pause or resume the rollout of a Deployment."""
        workload = self._workload(name, namespace)
        workload.paused = paused
        workload.owners[PAUSED_PATH] = {"kubectl-rollout"} if paused else set()
        workload.touch(self.now, "kubectl-rollout")
        self._announce(workload)

    def note(self, name: str, namespace: str = NAMESPACE) -> None:
        """Change something in a Deployment that is no part of its spec: its version grows."""
        workload = self._workload(name, namespace)
        workload.version = workload.next_version()
        self._announce(workload)

    def note_spec(self, name: str, namespace: str = NAMESPACE) -> None:
        """Change something in a Deployment's spec that no Pod sees: its generation grows."""
        workload = self._workload(name, namespace)
        workload.touch(self.now, "kubectl-edit")
        self._announce(workload)

    def let_go(self, name: str, namespace: str = NAMESPACE) -> None:
        """Let every other manager give up the env item and leave its value as it is."""
        workload = self._workload(name, namespace)
        workload.owners.clear()
        self.note(name, namespace)

    def set_containers(
        self,
        name: str,
        containers: tuple[Container, ...],
        *,
        manager: str,
        namespace: str = NAMESPACE,
    ) -> None:
        """Replace the containers of a Deployment's template; the label stays."""
        workload = self._workload(name, namespace)
        template = replace(workload.template, containers=containers)
        if template != workload.template:
            _take_lists(workload, template, manager)
            workload.template = template
            workload.touch(self.now, manager)
            self._announce(workload)

    def set_config(
        self, name: str, text: str | None, *, manager: str, namespace: str = NAMESPACE
    ) -> None:
        """Force the env item that carries the profile to a text, or remove it (`None`).

        Whoever sets it owns it from then on; whoever removes it leaves it without an owner.
        """
        workload = self._workload(name, namespace)
        first, *others = workload.template.containers
        env = tuple(item for item in first.env if item.name != PROFILE_ENV)
        if text is not None:
            env = (*env, EnvItem(name=PROFILE_ENV, value=text))
        path = env_path(first.name)
        workload.owners[path] = set() if text is None else {manager}
        self.set_containers(
            name, (replace(first, env=env), *others), manager=manager, namespace=namespace
        )

    def rollout_restart(self, name: str, namespace: str = NAMESPACE) -> None:
        """Do as `kubectl rollout restart`: set an annotation of the template to the time."""
        workload = self._workload(name, namespace)
        if workload.paused:
            raise RefusedError(f"deployments.apps {name!r} can't restart paused deployment")
        moment = datetime.fromtimestamp(int(self.now), UTC).isoformat()
        workload.template = replace(workload.template, restarted_at=moment)
        workload.touch(self.now, "kubectl-rollout")
        self._announce(workload)

    def rollout_undo(self, name: str, namespace: str = NAMESPACE) -> None:
        """Do as `kubectl rollout undo`: bring the template of the revision before back.

        It replaces the whole template and the Deployment's annotations, ours among them, by what
        the ReplicaSet of that revision holds, and takes what changes by it over: a plain patch asks
        nobody.

        Raises:
            RefusedError: The Deployment is paused, or there was no revision before.
        """
        workload = self._workload(name, namespace)
        if workload.paused:
            raise RefusedError(
                "cannot rollback a paused deployment; resume it first with 'kubectl rollout resume'"
            )
        known = sorted(workload.sets, key=lambda each: each.revision)
        if len(known) < 2:
            raise RefusedError(f"no rollout history found for deployment {name!r}")
        before = known[-2]
        if workload.marker != before.marker:
            workload.marker = before.marker
            workload.owners[ANNOTATION_PATH] = set() if before.marker is None else {_UNDO}
        if workload.template != before.template:
            _take_over(workload, before.template, _UNDO)
            workload.touch(self.now, _UNDO)
        self._announce(workload)

    def apply_as(
        self,
        name: str,
        *,
        manager: str,
        config: str | None = None,
        paused: bool | None = None,
        force: bool = False,
        namespace: str = NAMESPACE,
    ) -> None:
        """Do as an owner that applies its manifest server-side: Flux, Helm 4, a person.

        A field that it applied before and leaves out now is given up, and goes when nobody else
        owns it.

        Args:
            name: The Deployment.
            manager: Field manager of the apply.
            config: Text of the env item in its manifest; `None`: its manifest has none.
            paused: Value of `spec.paused` in its manifest; `None`: its manifest has none.
            force: Whether it takes over what others own.
            namespace: Where the Deployment is.

        Raises:
            FieldConflictError: Others own a field that would change; nothing is changed then.
        """
        workload = self._workload(name, namespace)
        present = _present(workload)
        named = {env_path(workload.template.containers[0].name): config, PAUSED_PATH: paused}
        given = {path: value for path, value in named.items() if value is not None}
        changing = [path for path, value in given.items() if present[path] != value]
        conflicts = tuple(
            Conflict(manager=other, field=path)
            for path in changing
            for other in sorted(workload.owners.get(path, set()) - {manager})
        )
        if conflicts and not force:
            raise FieldConflictError(f"Apply failed with {len(conflicts)} conflict(s)", conflicts)
        values = dict(present)
        for path in named:
            owners = workload.owners.setdefault(path, set())
            if path in given:
                workload.owners[path] = {manager} if path in changing else owners | {manager}
                values[path] = given[path]
            elif manager in owners:
                owners.discard(manager)
                values[path] = values[path] if owners else None
        if values != present:
            _set(workload, values)
            workload.touch(self.now, manager)
        else:
            # Who owns what changed, if anything.
            workload.version = workload.next_version()
        self._announce(workload)

    def keep_applying(
        self,
        name: str,
        *,
        manager: str,
        config: str | None = None,
        paused: bool | None = None,
        every: float = 180.0,
        namespace: str = NAMESPACE,
    ) -> None:
        """Apply a manifest with force at once and at an interval, as a GitOps controller heals."""

        def heal(_: float) -> None:
            self.apply_as(
                name,
                manager=manager,
                config=config,
                paused=paused,
                force=True,
                namespace=namespace,
            )

        self.every(every, heal)

    def autoscale(
        self,
        name: str,
        wanted: Callable[[float], int],
        every: float = HPA_SECONDS,
        namespace: str = NAMESPACE,
    ) -> None:
        """Scale a Deployment as a HorizontalPodAutoscaler does, at an interval.

        Args:
            name: The Deployment.
            wanted: Replicas by time.
            every: Seconds between two looks.
            namespace: Where the Deployment is.
        """
        self.every(every, lambda now: self.scale(name, wanted(now), namespace))


_UNDO: Final = "kubectl-rollout"


def _present(workload: Workload) -> dict[str, str | bool | None]:
    """Return the values of the fields that several may own."""
    first = workload.template.containers[0]
    items = [item.value for item in first.env if item.name == PROFILE_ENV]
    return {
        env_path(first.name): items[-1] if items else None,
        PAUSED_PATH: True if workload.paused else None,
    }


def _set(workload: Workload, values: dict[str, str | bool | None]) -> None:
    first, *others = workload.template.containers
    value = values[env_path(first.name)]
    env = tuple(item for item in first.env if item.name != PROFILE_ENV)
    if value is not None:
        env = (*env, EnvItem(name=PROFILE_ENV, value=str(value)))
    workload.template = replace(workload.template, containers=(replace(first, env=env), *others))
    workload.paused = bool(values[PAUSED_PATH])


def _take_over(workload: Workload, template: Template, manager: str) -> None:
    """Replace the template by a plain patch: what changes belongs to who patches."""
    before = workload.template
    if before.profile != template.profile:
        workload.owners[LABEL_PATH] = set() if template.profile is None else {manager}
    _take_lists(workload, template, manager)
    env_before = {each.name: _item(each) for each in before.containers}
    for each in template.containers:
        item = _item(each)
        if item != env_before.get(each.name):
            workload.owners[env_path(each.name)] = set() if item is None else {manager}
    workload.template = template


def _take_lists(workload: Workload, template: Template, manager: str) -> None:
    """Give every argument list that changes to who changes it."""
    before = {each.name: each.args for each in workload.template.containers}
    for each in template.containers:
        if each.args != before.get(each.name):
            workload.owners[args_path(each.name)] = {manager}


def _item(container: Container) -> EnvItem | None:
    return next((item for item in container.env if item.name == PROFILE_ENV), None)
