"""How many more Pods of a target the ResourceQuotas of its namespace allow.

The API server refuses a Pod when, for a resource that a matching quota limits,

    used + what the Pod asks for > hard

so a quota has room for ⌊(hard − used) ÷ asked⌋ more, and the smallest number counts
(kubernetes.io/docs/concepts/policy/resource-quotas). What a template does not state may be filled
in when the Pod is made (LimitRange, a default priority class): a quota of which it cannot be told
whether it matches is left out and named.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from ridgeline.policy.placement import Requirement, Room

_UNITS: Final = ((2**30, "Gi"), (2**20, "Mi"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A ResourceQuota.

    Attributes:
        name: Its name.
        hard: Limits by resource, in base units.
        used: What is in use; a resource that is missing here is not counted yet.
        scopes: Which Pods it is for: all of them must hold; a scope's name stands as the key.
    """

    name: str
    hard: Mapping[str, Fraction]
    used: Mapping[str, Fraction] = field(default_factory=dict)
    scopes: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCost:
    """What one Pod of a target takes from quotas, as far as its template tells.

    Attributes:
        amounts: By the quotas' own names (`requests.nvidia.com/gpu`, `pods`), in base units.
        priority_class: Its priority class; empty when the template names none.
        states_compute: Whether it states CPU or memory, so that it is not of class BestEffort.
    """

    amounts: Mapping[str, Fraction] = field(default_factory=dict)
    priority_class: str = ""
    states_compute: bool = False

    def with_claims(self, claims: int, devices: Mapping[str, int] | str) -> "PodCost":
        """Return it with what a Pod's claims take (Dynamic Resource Allocation).

        Args:
            claims: Claims that are made for each Pod.
            devices: The devices that they ask for by class, or why that cannot be told: then only
                the claims themselves are counted.
        """
        amounts = {**self.amounts, "count/resourceclaims.resource.k8s.io": Fraction(claims)}
        if not isinstance(devices, str):
            amounts |= {
                f"{name}.deviceclass.resource.k8s.io/devices": Fraction(count)
                for name, count in devices.items()
            }
        return replace(self, amounts=amounts)

    def is_under(self, quota: Quota) -> bool | None:
        """Tell whether a quota is for such Pods; `None` when it cannot be told."""
        met = [self._meets(scope) for scope in quota.scopes]
        if False in met:
            return False
        return None if None in met else True

    def _meets(self, scope: Requirement) -> bool | None:
        match scope.key:
            case "Terminating":
                # A Deployment's Pods cannot have activeDeadlineSeconds.
                return False
            case "NotTerminating":
                return True
            case "BestEffort":
                return False if self.states_compute else None
            case "NotBestEffort":
                return True if self.states_compute else None
            case "PriorityClass" if self.priority_class:
                return scope.met_by({scope.key: self.priority_class})
        return None


def quota_room(quotas: Iterable[Quota], cost: PodCost) -> Room:
    """Count how many more Pods the quotas allow; `pods` is `None` when none limits them."""
    by_name = {quota.name: quota for quota in quotas}
    untold: list[str] = []
    found: list[tuple[int, str, str]] = []
    for name, quota in by_name.items():
        under = cost.is_under(quota)
        if under is None:
            untold.append(name)
        elif under:
            found += _limits(quota, cost)
    least = min(found, default=None)
    why = "no ResourceQuota limits the Pods"
    if least is not None:
        why = _why(by_name[least[1]], least[2], cost, least[0])
    if untold:
        names = ", ".join(sorted(untold))
        why = f"{why}; not counted, since its scopes may not be for them: {names}"
    return Room(pods=least[0] if least is not None else None, why=why)


def _limits(quota: Quota, cost: PodCost) -> list[tuple[int, str, str]]:
    """Return how many Pods fit, the quota and the resource, for each resource that it limits."""
    found = []
    for resource, asked in cost.amounts.items():
        hard, used = quota.hard.get(resource), quota.used.get(resource)
        if hard is None or used is None or asked <= 0:
            continue
        found.append((max(0, (hard - used) // asked), quota.name, resource))
    return found


def _why(quota: Quota, resource: str, cost: PodCost, pods: int) -> str:
    return (
        f"ResourceQuota {quota.name} has {_text(quota.used[resource])} of "
        f"{_text(quota.hard[resource])} {resource} in use and allows {pods} more Pods "
        f"({_text(cost.amounts[resource])} each)"
    )


def _text(amount: Fraction) -> str:
    for unit, name in _UNITS:
        if amount >= unit and amount % unit == 0:
            return f"{amount // unit}{name}"
    return str(amount) if amount.denominator == 1 else f"{float(amount):.6g}"
