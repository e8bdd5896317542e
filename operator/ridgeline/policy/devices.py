"""Free devices that Pods claim (Dynamic Resource Allocation), counted where that can be known.

The scheduler allocates devices of published ResourceSlices to the requests of a Pod's claims. Free
is a device that no claim holds. Counted are requests for a number of devices of a class whose
selector names a driver, and perhaps attributes that must equal a text; devices that belong to one
node and are handed out whole. Everything else (other CEL expressions, alternatives, constraints
between devices, parts of devices, devices of several nodes, tainted devices, pools that are not
published whole) is not counted: the answer is then unknown, with the reason.
(kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Held = frozenset[tuple[str, str, str]]
"""Devices that claims hold, by driver, pool and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Which devices a class means.

    Attributes:
        driver: Their driver.
        attributes: Attributes that must equal a text, by qualified name (`domain/name`).
    """

    driver: str
    attributes: tuple[tuple[str, str], ...] = ()

    def meets(self, device: "Device") -> bool | None:
        """Tell whether it means a device of its driver; `None` when that cannot be told.

        A CEL expression fails on an attribute that a device lacks, and the allocation with it.
        """
        for name, wanted in self.attributes:
            value = device.attributes.get(name)
            if value is None:
                return None
            if value != wanted:
                return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of a pool, with its attributes that are texts, by qualified name."""

    name: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSlice:
    """One of the slices in which a driver publishes a pool of devices.

    Attributes:
        driver: The driver.
        pool: The pool.
        generation: Of the pool: slices of an older one are gone.
        slices: How many slices the pool has in that generation.
        node: The node that its devices belong to; `None` when that is not one node.
        devices: Its devices.
        uncounted: Why its devices cannot be counted; empty when they can.
    """

    driver: str
    pool: str
    generation: int
    slices: int
    node: str | None
    devices: tuple[Device, ...]
    uncounted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceAsk:
    """What a Pod's claims ask of one device class.

    Attributes:
        device_class: Name of the class.
        selector: Which devices it means.
        count: How many of them one Pod asks for.
    """

    device_class: str
    selector: Selector
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCount:
    """How many Pods each node has free devices for.

    Attributes:
        pods: By node; a node that is missing has none. `None` when it cannot be told.
        why: What one Pod asks for, or why it cannot be told.
    """

    pods: Mapping[str, int] | None
    why: str


def count_devices(
    asks: tuple[DeviceAsk, ...], published: Iterable[DeviceSlice], held: Held
) -> DeviceCount:
    """Count how many Pods with these claims each node has devices for.

    Args:
        asks: What one Pod asks for, each class once.
        published: All slices.
        held: Devices that claims hold.
    """
    drivers = {ask.selector.driver for ask in asks}
    current = _newest(each for each in published if each.driver in drivers)
    untold = _why_not(current)
    if untold:
        return DeviceCount(pods=None, why=untold)
    free: dict[str, list[int]] = {}
    for node, slices in _by_node(current).items():
        counts = _free_of(asks, slices, held)
        if isinstance(counts, str):
            return DeviceCount(pods=None, why=counts)
        free[node] = counts
    asked = ", ".join(f"{ask.count} × {ask.device_class}" for ask in asks)
    pods = {
        node: min(count // ask.count for count, ask in zip(counts, asks, strict=True))
        for node, counts in free.items()
    }
    return DeviceCount(pods=pods, why=asked)


def _newest(slices: Iterable[DeviceSlice]) -> list[DeviceSlice]:
    """Return the slices of each pool's newest generation."""
    pools: dict[tuple[str, str], list[DeviceSlice]] = {}
    for each in slices:
        pools.setdefault((each.driver, each.pool), []).append(each)
    found = []
    for same in pools.values():
        newest = max(each.generation for each in same)
        found += [each for each in same if each.generation == newest]
    return found


def _why_not(slices: list[DeviceSlice]) -> str:
    """Return why devices cannot be counted, empty when they can."""
    seen: dict[tuple[str, str], int] = {}
    for each in slices:
        if each.uncounted:
            return f"driver {each.driver}, pool {each.pool}: {each.uncounted}"
        if each.node is None:
            return f"driver {each.driver}, pool {each.pool}: its devices belong to no single node"
        seen[each.driver, each.pool] = seen.get((each.driver, each.pool), 0) + 1
    for each in slices:
        if seen[each.driver, each.pool] != each.slices:
            return (
                f"driver {each.driver}, pool {each.pool}: {seen[each.driver, each.pool]} of "
                f"{each.slices} slices are published"
            )
    return ""


def _by_node(slices: list[DeviceSlice]) -> dict[str, list[DeviceSlice]]:
    nodes: dict[str, list[DeviceSlice]] = {}
    for each in slices:
        if each.node is not None:
            nodes.setdefault(each.node, []).append(each)
    return nodes


def _free_of(asks: tuple[DeviceAsk, ...], slices: list[DeviceSlice], held: Held) -> list[int] | str:
    """Return how many devices each class has free on one node, or why that cannot be told."""
    counts, taken = [0] * len(asks), set[tuple[str, str, str]]()
    for index, ask in enumerate(asks):
        for each in slices:
            if each.driver != ask.selector.driver:
                continue
            for device in each.devices:
                meets = ask.selector.meets(device)
                if meets is None:
                    return (
                        f"device {device.name} of pool {each.pool} lacks an attribute that class "
                        f"{ask.device_class} selects by"
                    )
                key = (each.driver, each.pool, device.name)
                if not meets or key in held:
                    continue
                if key in taken:
                    return f"device {device.name} is of several classes that the Pods claim"
                taken.add(key)
                counts[index] += 1
    return counts
