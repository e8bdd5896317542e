"""The API server of the simulated cluster as the operator's own client meets it: paths and JSON.

Only what the operator may ask is answered; everything else is answered with 403, as its rights in
the chart would have it, and counts as a broken promise.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ridgeline.cluster.errors import (
    AnotherObjectError,
    ClusterError,
    FieldConflictError,
    NotFoundError,
    RefusedError,
    StaleVersionError,
    UnavailableError,
)
from ridgeline.cluster.marker import marker_of
from ridgeline.cluster.objects import DeploymentObject, ServingObject, trim_deployment
from ridgeline.cluster.target import ProfileWrite
from ridgeline.sim.fleet import SimulatedCluster
from ridgeline.terms.names import FORCE_ANNOTATION, PROFILE_LABEL, SERVING_ANNOTATION

Json = dict[str, Any]

DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/"
SERVINGS: Final = "/apis/ridgeline.dev/v1alpha1/namespaces/"
EVENTS: Final = "/apis/events.k8s.io/v1/namespaces/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request.

    Attributes:
        who: Process that makes it.
        method: HTTP method.
        path: Path without the query.
        query: Query parameters.
        body: JSON body; empty without one.
    """

    who: str
    method: str
    path: str
    query: Mapping[str, str]
    body: Json

    @property
    def kind(self) -> str:
        """What it is: `read`, `rehearsal`, `profile`, `status`, `event`, or `other`."""
        if self.path.startswith(DEPLOYMENTS) and "/deployments/" in self.path:
            if self.method == "GET":
                return "read"
            if self.method == "PATCH":
                return "rehearsal" if self.query.get("dryRun") == "All" else "profile"
        if self.path.startswith(SERVINGS) and self.path.endswith("/status"):
            return "status" if self.method == "PATCH" else "other"
        if self.path.startswith(EVENTS) and self.method == "POST":
            return "event"
        return "other"

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name of the object that it is about."""
        parts = self.path.split("/namespaces/", 1)[1].split("/")
        return parts[0], parts[2] if len(parts) > 2 else ""


Landed = Callable[[Request, DeploymentObject, DeploymentObject], None]
"""Called with an apply that was taken, and the Deployment before and after it."""

Told = Callable[[Request, ServingObject], None]
"""Called with an apply of a status that is about to be taken, and the serving before it."""


class ApiServer:
    """Answers requests from a simulated cluster.

    Attributes:
        landed: Is told of every apply to a Deployment that was taken.
        told: Is told of every status that is taken.
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self.landed: Landed = lambda _request, _before, _after: None
        self.told: Told = lambda _request, _serving: None

    def answer(self, request: Request) -> tuple[int, Json]:
        """Carry a request out; return the HTTP status and the body of its answer."""
        try:
            return 200, self._answer(request)
        except ClusterError as error:
            return _status_of(error)

    def deployment(self, namespace: str, name: str) -> Json:
        """Return a Deployment as JSON.

        Raises:
            NotFoundError: There is none.
        """
        body = self._cluster.deployment_body(name, namespace)
        shape = self._cluster.deployment(name, namespace).shape
        limits = {"maxSurge": shape.max_surge, "maxUnavailable": shape.max_unavailable}
        body["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": limits}
        return body

    def deployment_object(self, namespace: str, name: str) -> DeploymentObject:
        """Return a Deployment as the operator keeps it, read from the same JSON.

        Raises:
            NotFoundError: There is none.
        """
        return trim_deployment(self.deployment(namespace, name))

    def _answer(self, request: Request) -> Json:
        if self._cluster.api_down:
            raise UnavailableError("the server is currently unable to handle the request")
        namespace, name = request.key
        match request.kind:
            case "read":
                return self.deployment(namespace, name)
            case "rehearsal" | "profile":
                return self._apply(request, namespace, name)
            case "status":
                return self._apply_status(request, namespace, name)
            case "event":
                return request.body
        raise RefusedError(f"{request.method} {request.path} is forbidden")

    def _apply(self, request: Request, namespace: str, name: str) -> Json:
        dry = request.kind == "rehearsal"
        before = self._before(request, namespace, name)
        write = _write_of(request.body, namespace, name)
        if write is not None:
            rehearsed = self._cluster.apply_profile(write, request.who, dry_run=dry)
            if dry:
                return self._rehearsed(rehearsed, namespace, name)
        elif not dry:
            version = request.body["metadata"].get("resourceVersion")
            exact = version is not None
            seen = before if not exact else _with_version(before, version)
            self._cluster.release(seen, request.who, exact=exact)
        if not dry:
            self.landed(request, before, self.deployment_object(namespace, name))
        return self.deployment(namespace, name)

    def _before(self, request: Request, namespace: str, name: str) -> DeploymentObject:
        asked = request.body["metadata"].get("uid", "")
        try:
            before = self.deployment_object(namespace, name)
        except NotFoundError as error:
            raise AnotherObjectError(
                f"Precondition failed: UID in precondition: {asked}"
            ) from error
        if before.uid != asked:
            raise _ImmutableUidError(f"metadata.uid: Invalid value: {asked}: field is immutable")
        return before

    def _rehearsed(self, rehearsed: DeploymentObject, namespace: str, name: str) -> Json:
        body = self.deployment(namespace, name)
        body["metadata"]["generation"] = rehearsed.generation
        return body

    def _apply_status(self, request: Request, namespace: str, name: str) -> Json:
        serving = self._cluster.serving(name, namespace)
        version = request.body["metadata"].get("resourceVersion")
        if version is not None and version != serving.resource_version:
            raise StaleVersionError(f'speculativeservings "{name}": the object has been modified')
        self.told(request, serving)
        written = self._cluster.apply_status(serving, request.body["status"], request.who)
        return serving_body(written)


class _ImmutableUidError(ClusterError):
    """The live object has another uid: 422, where an object that is gone gives a 409."""


def serving_body(serving: ServingObject) -> Json:
    """Return a serving as JSON."""
    forced = {} if serving.forced_profile is None else {FORCE_ANNOTATION: serving.forced_profile}
    created = datetime.fromtimestamp(serving.created_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata: Json = {
        "namespace": serving.namespace,
        "name": serving.name,
        "uid": serving.uid,
        "generation": serving.generation,
        "resourceVersion": serving.resource_version,
        "creationTimestamp": created,
        "annotations": forced,
    }
    if serving.deleting:
        metadata["deletionTimestamp"] = created
    return {"metadata": metadata, "spec": dict(serving.spec), "status": dict(serving.status)}


def _with_version(before: DeploymentObject, version: str) -> DeploymentObject:
    if before.resource_version != version:
        raise StaleVersionError(f'deployments.apps "{before.name}": it has been modified')
    return before


def _write_of(body: Json, namespace: str, name: str) -> ProfileWrite | None:
    """Read an apply of a profile; `None` for one that names nothing."""
    if "spec" not in body:
        return None
    template = body["spec"]["template"]
    (container,) = template["spec"]["containers"]
    (item,) = container["env"]
    metadata = body["metadata"]
    mark = marker_of(metadata["annotations"][SERVING_ANNOTATION])
    if mark is None:
        raise RefusedError("the annotation cannot be read")
    return ProfileWrite(
        namespace=namespace,
        deployment=name,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        container=container["name"],
        serving=mark.serving,
        profile=template.get("metadata", {}).get("labels", {}).get(PROFILE_LABEL),
        config=item["value"],
        on_delete=mark.on_delete,
        canary=mark.canary if body["spec"].get("paused") else None,
    )


def _status_of(error: ClusterError) -> tuple[int, Json]:
    """Return an error as the API server tells it."""
    message: Json = {"kind": "Status", "message": str(error)}
    match error:
        case NotFoundError():
            return 404, message
        case UnavailableError():
            return 503, message
        case FieldConflictError():
            causes = [
                {
                    "reason": "FieldManagerConflict",
                    "message": f'conflict with "{each.manager}"',
                    "field": each.field,
                }
                for each in error.conflicts
            ]
            return 409, {**message, "details": {"causes": causes}}
        case StaleVersionError() | AnotherObjectError():
            return 409, message
        case _ImmutableUidError():
            causes = [{"reason": "FieldValueInvalid", "field": "metadata.uid"}]
            return 422, {**message, "details": {"causes": causes}}
    return 422, message
