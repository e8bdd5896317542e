"""The way to the operator's own answer, and to its Lease, as far as a person's rights go."""

from dataclasses import dataclass
from typing import Any, Final

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import ClusterError, NotFoundError, RefusedError
from ridgeline.cluster.objects import ServingObject
from ridgeline.cluster.operator_page import operator_lease, operator_page, proxied_name
from ridgeline.controller.explain_live import Live, NotAnAnswerError, live_of
from ridgeline.controller.explain_state import LeaseSeen, lease_seen
from ridgeline.telemetry.errors import TelemetryError
from ridgeline.telemetry.operator_page import operator_page as page_at

ASKS: Final = 4
"""A Service leads to any replica: so often it is asked until the leader answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPlace:
    """Where the operator is.

    Attributes:
        namespace: Namespace of its Service and its Lease.
        name: Name of both.
        url: Address of its port, `None` for the API server's proxy.
    """

    namespace: str
    name: str
    url: str | None = None

    @property
    def told(self) -> str:
        """The place for a person."""
        return self.url or f"{self.namespace}/{self.name}"


async def ask_operator(
    api: KubernetesApi, place: OperatorPlace, serving: ServingObject
) -> Live | str:
    """Return the operator's own answer about a serving, or in one line why there is none.

    Of several replicas the leader's answer is taken; where it does not come, a standby's.
    """
    answer: Live | str = ""
    for _ in range(ASKS if place.url is None else 1):
        answer = await _asked(api, place, serving)
        if isinstance(answer, str) or answer.leader:
            return answer
    return answer


async def lease_of(api: KubernetesApi, place: OperatorPlace, now: float) -> LeaseSeen | None:
    """Return the operator's Lease, `None` where it is out of reach or not there."""
    try:
        body = await operator_lease(api, place.namespace, place.name)
    except ClusterError:
        return None
    return lease_seen(body, f"{place.namespace}/{place.name}", now)


async def _asked(api: KubernetesApi, place: OperatorPlace, serving: ServingObject) -> Live | str:
    try:
        return live_of(await _page(api, place, serving), serving)
    except RefusedError:
        return (
            f"your rights do not reach services/proxy of {proxied_name(place.name)} in "
            f"{place.namespace}"
        )
    except NotFoundError as error:
        return f"{place.told}: {error}; name its Service with --operator NAMESPACE/NAME"
    except (ClusterError, TelemetryError, NotAnAnswerError) as error:
        return f"{place.told}: {_one_line(error)}"


async def _page(api: KubernetesApi, place: OperatorPlace, serving: ServingObject) -> dict[str, Any]:
    page = f"explain/{serving.namespace}/{serving.name}"
    if place.url is not None:
        return await page_at(place.url, page)
    return await operator_page(api, place.namespace, place.name, page)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
