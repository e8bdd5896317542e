"""Kubernetes quantities, and what a Pod template takes from a ResourceQuota. Calls nothing."""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from ridgeline.policy.quota import PodCost

Json = Mapping[str, Any]

_QUANTITY: Final = re.compile(
    r"([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30}))(?:[eE]([+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE])?)"
)
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_COMPUTE: Final = ("cpu", "memory")


def parse_quantity(value: object) -> Fraction | None:
    """Return a quantity such as `500m`, `1.5` or `64Gi` in base units; `None` for what is none.

    Suffixes as Kubernetes' API reference gives them for a Quantity.
    """
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        return None
    number, exponent, suffix = Fraction(found[1]), found[2], found[3] or ""
    if exponent is not None:
        return number * Fraction(10) ** int(exponent)
    if suffix in _BINARY:
        return number * Fraction(1024) ** _BINARY[suffix]
    return number * Fraction(10) ** _DECIMAL[suffix]


def quantities(listed: Any) -> dict[str, Fraction]:
    """Return the quantities of a list of resources by name, without those that are none."""
    read = {name: parse_quantity(value) for name, value in (listed or {}).items()}
    return {name: value for name, value in read.items() if value is not None}


def pod_cost(pod: Json, extended: Mapping[str, int]) -> PodCost:
    """Return what a Pod with this spec takes from quotas, as far as the spec states it.

    Args:
        pod: Its spec.
        extended: Extended resources that it asks for.
    """
    amounts = {"pods": Fraction(1), "count/pods": Fraction(1)}
    amounts |= {f"requests.{name}": Fraction(count) for name, count in extended.items()}
    states_compute = False
    for name in _COMPUTE:
        asked, limited = _of_pod(pod, name, "requests"), _of_pod(pod, name, "limits")
        if asked > 0:
            amounts |= {name: asked, f"requests.{name}": asked}
        if limited > 0:
            amounts[f"limits.{name}"] = limited
        states_compute = states_compute or asked > 0 or limited > 0
    return PodCost(
        amounts=amounts,
        priority_class=pod.get("priorityClassName") or "",
        states_compute=states_compute,
    )


def _of_pod(pod: Json, name: str, kind: str) -> Fraction:
    """Return what the containers of a Pod take at most at one time.

    Containers and sidecars (init containers with `restartPolicy: Always`) run together; each other
    init container runs beside the sidecars before it. What is stated for the Pod as a whole counts
    in place of that (kubernetes.io/docs/concepts/workloads/pods/sidecar-containers).
    """
    whole = _stated(pod, name, kind)
    if whole is not None:
        return whole
    sidecars, peak = Fraction(0), Fraction(0)
    for container in pod.get("initContainers") or ():
        amount = _stated(container, name, kind) or Fraction(0)
        peak = max(peak, sidecars + amount)
        if container.get("restartPolicy") == "Always":
            sidecars += amount
    return max(peak, sidecars + _sum(pod.get("containers") or (), name, kind))


def _sum(containers: Iterable[Json], name: str, kind: str) -> Fraction:
    return sum((_stated(each, name, kind) or Fraction(0) for each in containers), Fraction(0))


def _stated(body: Json, name: str, kind: str) -> Fraction | None:
    resources = body.get("resources") or {}
    value = (resources.get(kind) or {}).get(name)
    if value is None and kind == "requests":
        # The API server takes a limit alone for the request, too.
        value = (resources.get("limits") or {}).get(name)
    return None if value is None else parse_quantity(value)
