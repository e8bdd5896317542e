"""ResourceQuotas and HorizontalPodAutoscalers, trimmed to what a roll needs. Calls nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ridgeline.cluster.quantities import quantities
from ridgeline.cluster.shape import requirements_of
from ridgeline.policy.placement import Requirement
from ridgeline.policy.quota import Quota
from ridgeline.policy.roll_neighbours import Autoscaler

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaObject:
    """A ResourceQuota."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    quota: Quota


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerObject:
    """A HorizontalPodAutoscaler.

    Attributes:
        target: The Deployment that it scales; empty when it scales something else.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    target: str
    autoscaler: Autoscaler


def trim_quota(body: Json) -> QuotaObject:
    """Trim a ResourceQuota.

    The limits are those of its status, by which the API server goes; of one that nobody has
    counted yet, nothing is known to be in use.
    """
    metadata, spec, status = body["metadata"], body.get("spec") or {}, body.get("status") or {}
    selected = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return QuotaObject(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        quota=Quota(
            name=metadata["name"],
            hard=quantities(status.get("hard")),
            used=quantities(status.get("used")),
            scopes=(
                *(Requirement(key=each, operator="Exists") for each in spec.get("scopes") or ()),
                *requirements_of({**each, "key": each["scopeName"]} for each in selected),
            ),
        ),
    )


def trim_autoscaler(body: Json) -> AutoscalerObject:
    """Trim a HorizontalPodAutoscaler."""
    metadata, spec, status = body["metadata"], body.get("spec") or {}, body.get("status") or {}
    scaled, least = spec.get("scaleTargetRef") or {}, _number(spec.get("minReplicas"))
    deployment = (
        scaled.get("kind") == "Deployment" and scaled.get("apiVersion", "").split("/")[0] == "apps"
    )
    return AutoscalerObject(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        target=scaled["name"] if deployment else "",
        autoscaler=Autoscaler(
            name=metadata["name"],
            least=1 if least is None else least,
            most=_number(spec.get("maxReplicas")) or 1,
            current=_number(status.get("currentReplicas")),
            # It says 0 until it has reckoned for the first time.
            desired=_number(status.get("desiredReplicas")) or None,
            acts=not any(
                each.get("type") == "ScalingActive" and each.get("status") == "False"
                for each in status.get("conditions") or ()
            ),
        ),
    )


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
