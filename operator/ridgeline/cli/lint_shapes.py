"""What has another shape than Kubernetes wants around the containers of vLLM: one finding each."""

from collections.abc import Iterator
from typing import Any

from ridgeline.cli.lint_manifests import Named, PodOf, mapping, text
from ridgeline.engine.findings import Finding, Severity, shown


def refused_value(field: str, value: object, why: str, fix: str) -> Finding:
    """Return that the API server refuses an object for the value of a field."""
    return Finding(
        check="ManifestValue",
        flag=field,
        value=shown(value),
        consequence=f"{why}: the API server refuses the object",
        fix=fix,
        severity=Severity.ERROR,
    )


def shape_findings(pod: PodOf) -> Iterator[Finding]:
    """Yield what is wrong with an object and the containers of its Pod, as far as both go."""
    yield from _of_owner(pod.owner)
    for index, each in enumerate(_listed(pod.spec.get("containers"))):
        if not isinstance(each, dict):
            yield refused_value(
                f"containers[{index}]", each, "it is no object", "write a container, or remove it"
            )


def _of_owner(owner: Named) -> Iterator[Finding]:
    name = mapping(owner.body.get("metadata")).get("name")
    if name is not None and not isinstance(name, str):
        way_out = "put it in quotes, so that it is a text"
        yield refused_value("metadata.name", name, "it is no text", way_out)
    replicas = mapping(owner.body.get("spec")).get("replicas")
    if text(owner.body.get("apiVersion")).startswith("apps/") and not _is_count(replicas):
        way_out = "write a whole number without quotes, such as 2"
        yield refused_value("spec.replicas", replicas, "it is no number of Pods", way_out)


def _is_count(value: object) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value is None or is_number


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
