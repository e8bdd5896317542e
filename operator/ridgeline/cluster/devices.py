"""Devices that Pods claim, as the API server tells them; versions v1, v1beta2 and v1beta1.

Only what a count needs is kept, and whatever makes a count uncertain is kept as words. Calls
nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ridgeline.cluster.store import Shelf
from ridgeline.policy.devices import (
    Device,
    DeviceAsk,
    DeviceCount,
    DeviceSlice,
    Held,
    Selector,
    count_devices,
)
from ridgeline.policy.placement import PodNeeds

Json = Mapping[str, Any]

API_VERSIONS: Final = ("resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1")
"""The newest that a server has is read: 1.34 serves v1, 1.33 v1beta2, 1.32 v1beta1."""

SLICES: Final = "resourceslices"
CLAIMS: Final = "resourceclaims"
CLASSES: Final = "deviceclasses"
TEMPLATES: Final = "resourceclaimtemplates"


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceObject:
    """A ResourceSlice; it belongs to the cluster."""

    name: str
    uid: str
    resource_version: str
    published: DeviceSlice
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimObject:
    """A ResourceClaim, with the devices that are allocated to it."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    held: Held


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassObject:
    """A DeviceClass, with which devices it means or why that cannot be told."""

    name: str
    uid: str
    resource_version: str
    selector: Selector | str
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateObject:
    """A ResourceClaimTemplate, with the number of devices by class or why that cannot be told."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    asked: Mapping[str, int] | str


@dataclass(slots=True)
class Devices:
    """What is known of claimed devices; a shelf that is not primed holds a kind out of reach."""

    slices: Shelf[SliceObject] = field(default_factory=Shelf)
    claims: Shelf[ClaimObject] = field(default_factory=Shelf)
    classes: Shelf[ClassObject] = field(default_factory=Shelf)
    templates: Shelf[TemplateObject] = field(default_factory=Shelf)
    group_version: str = ""
    _counted: dict[tuple[DeviceAsk, ...], DeviceCount] = field(default_factory=dict)
    _counted_at: tuple[int, int] = (0, 0)

    @property
    def readable(self) -> bool:
        """Whether every kind could be listed."""
        shelves = (self.slices, self.claims, self.classes, self.templates)
        return all(shelf.primed for shelf in shelves)

    def forget(self) -> None:
        """Forget everything: the kinds are out of reach, or nobody claims any device."""
        for shelf in (self.slices, self.claims, self.classes, self.templates):
            shelf.clear()
        self.group_version = ""

    def asked(self, namespace: str, needs: PodNeeds) -> Mapping[str, int] | str:
        """Return the devices that one Pod claims by class, or why they cannot be told."""
        if not self.readable:
            return "what they claim (DRA) cannot be read"
        total: dict[str, int] = {}
        for claim in needs.claims:
            if not claim.template:
                return f"they share ResourceClaim {claim.shared}, which binds them to its devices"
            found = self.templates.get((namespace, claim.template))
            if found is None:
                return f"there is no ResourceClaimTemplate {claim.template}"
            if isinstance(found.asked, str):
                return f"ResourceClaimTemplate {claim.template} {found.asked}"
            for name, count in found.asked.items():
                total[name] = total.get(name, 0) + count
        return total

    def count(self, namespace: str, needs: PodNeeds) -> DeviceCount:
        """Count how many Pods each node has free devices for."""
        asked = self.asked(namespace, needs)
        if isinstance(asked, str):
            return DeviceCount(pods=None, why=asked)
        asks = []
        for name, number in sorted(asked.items()):
            known = self.classes.get(("", name))
            if known is None:
                return DeviceCount(pods=None, why=f"there is no DeviceClass {name}")
            if isinstance(known.selector, str):
                return DeviceCount(pods=None, why=f"DeviceClass {name} {known.selector}")
            asks.append(DeviceAsk(device_class=name, selector=known.selector, count=number))
        return self._counted_for(tuple(asks))

    def _counted_for(self, asks: tuple[DeviceAsk, ...]) -> DeviceCount:
        """Count, unless it was done since slices or claims changed: many targets ask alike."""
        changes = (self.slices.changes, self.claims.changes)
        if changes != self._counted_at:
            self._counted, self._counted_at = {}, changes
        if asks not in self._counted:
            held = frozenset[tuple[str, str, str]]().union(*(x.held for x in self.claims.all()))
            published = (each.published for each in self.slices.all())
            self._counted[asks] = count_devices(asks, published, held)
        return self._counted[asks]


def trim_slice(body: Json) -> SliceObject:
    """Trim a ResourceSlice."""
    metadata, spec = body["metadata"], body["spec"]
    pool, driver = spec.get("pool") or {}, str(spec.get("driver", ""))
    devices = spec.get("devices") or ()
    return SliceObject(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        published=DeviceSlice(
            driver=driver,
            pool=str(pool.get("name", "")),
            generation=int(pool.get("generation") or 0),
            slices=int(pool.get("resourceSliceCount") or 1),
            node=spec.get("nodeName") or None,
            devices=tuple(_device(each, driver) for each in devices),
            uncounted=_uncounted(spec, devices),
        ),
    )


def trim_claim(body: Json) -> ClaimObject:
    """Trim a ResourceClaim to the devices that it keeps from others.

    Who looks at a device as an administrator keeps it from nobody.
    """
    metadata = body["metadata"]
    allocated = ((body.get("status") or {}).get("allocation") or {}).get("devices") or {}
    return ClaimObject(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        held=frozenset(
            (str(each["driver"]), str(each["pool"]), str(each["device"]))
            for each in allocated.get("results") or ()
            if not each.get("adminAccess")
        ),
    )


def trim_class(body: Json) -> ClassObject:
    """Trim a DeviceClass."""
    metadata = body["metadata"]
    return ClassObject(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        selector=_selector((body.get("spec") or {}).get("selectors") or ()),
    )


def trim_template(body: Json) -> TemplateObject:
    """Trim a ResourceClaimTemplate."""
    metadata = body["metadata"]
    devices = ((body.get("spec") or {}).get("spec") or {}).get("devices") or {}
    return TemplateObject(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        asked=_asked(devices),
    )


def _device(body: Json, driver: str) -> Device:
    attributes = (body.get("basic") or body).get("attributes") or {}
    return Device(
        name=str(body["name"]),
        attributes={
            name if "/" in name else f"{driver}/{name}": str(value["string"])
            for name, value in attributes.items()
            if "string" in value
        },
    )


def _uncounted(spec: Json, devices: Any) -> str:
    """Return why the devices of a slice cannot be counted; empty when they can."""
    if spec.get("sharedCounters"):
        return "its devices are parts of others"
    for each in devices:
        basic = each.get("basic") or each
        if basic.get("consumesCounters"):
            return "its devices are parts of others"
        if basic.get("allowMultipleAllocations"):
            return f"device {each['name']} may be shared"
        if basic.get("taints"):
            return f"device {each['name']} is tainted"
    return ""


_TERM: Final = re.compile(
    r"""\(?\s*device\.(?:
        (?P<driver>driver)
        | attributes\[(?P<quote>["'])(?P<domain>[\w.-]+)(?P=quote)\]\.(?P<name>\w+)
    )\s*==\s*(?P<mark>["'])(?P<text>[\w./ -]*)(?P=mark)\s*\)?""",
    re.VERBOSE,
)


def _selector(selectors: Any) -> Selector | str:
    """Return which devices a class means, or why that cannot be told.

    Read are equalities of the driver and of attributes with a text, joined by `&&`: with the
    driver's name first, as drivers write their classes, the rest is looked at for its devices
    alone.
    """
    if len(selectors) != 1:
        return "selects devices by several expressions" if selectors else "selects every device"
    expression = str((selectors[0].get("cel") or {}).get("expression", ""))
    found = [_TERM.fullmatch(each.strip()) for each in expression.split("&&")]
    terms = [each for each in found if each is not None]
    first_is_driver = bool(terms) and terms[0]["driver"] is not None
    if len(terms) != len(found) or not first_is_driver:
        return f"selects devices by an expression that is not read here ({expression[:200]})"
    if any(each["driver"] for each in terms[1:]):
        return "names several drivers"
    return Selector(
        driver=terms[0]["text"],
        attributes=tuple((f"{each['domain']}/{each['name']}", each["text"]) for each in terms[1:]),
    )


def _asked(devices: Json) -> Mapping[str, int] | str:
    """Return the number of devices by class, or why it cannot be told, after the claim's name."""
    if devices.get("constraints"):
        return "ties devices to each other"
    total: dict[str, int] = {}
    for request in devices.get("requests") or ():
        if request.get("firstAvailable"):
            return "names alternatives"
        exact = request.get("exactly") or request
        untold = _inexact(exact)
        if untold:
            return untold
        name, count = str(exact.get("deviceClassName", "")), int(exact.get("count") or 1)
        total[name] = total.get(name, 0) + count
    return total or "asks for no device"


def _inexact(exact: Json) -> str:
    if exact.get("selectors"):
        return "selects devices by an expression of its own"
    if exact.get("allocationMode", "ExactCount") != "ExactCount":
        return "asks for all devices"
    if exact.get("adminAccess"):
        return "asks for access as an administrator"
    if exact.get("capacity"):
        return "asks for parts of devices"
    return ""
