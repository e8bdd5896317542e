"""How many Pods each node has free devices for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.policy.devices import (
    Device,
    DeviceAsk,
    DeviceSlice,
    Held,
    Selector,
    count_devices,
)

DRIVER = "gpu.example.com"
GPU = Selector(driver=DRIVER, attributes=((f"{DRIVER}/type", "gpu"),))
MIG = Selector(driver=DRIVER, attributes=((f"{DRIVER}/type", "mig"),))
ANY = Selector(driver=DRIVER)


def device(name: str, kind: str | None = "gpu") -> Device:
    return Device(name=name, attributes={} if kind is None else {f"{DRIVER}/type": kind})


def piece(node: str | None = "a", *devices: Device, **other: object) -> DeviceSlice:
    usual = DeviceSlice(
        driver=DRIVER,
        pool=node or "net",
        generation=1,
        slices=1,
        node=node,
        devices=devices or (device("0"), device("1"), device("2")),
    )
    return replace(usual, **other)  # type: ignore[arg-type]


def ask(count: int = 1, selector: Selector = ANY, name: str = "gpu") -> DeviceAsk:
    return DeviceAsk(device_class=name, selector=selector, count=count)


def held(*names: str, node: str = "a") -> Held:
    return frozenset((DRIVER, node, name) for name in names)


def test_a_device_that_a_claim_holds_is_not_free() -> None:
    count = count_devices((ask(),), [piece("a"), piece("b")], held("0", "1"))
    assert count.pods == {"a": 1, "b": 3}
    assert count.why == "1 × gpu"


def test_a_pod_of_two_devices_needs_both_on_one_node() -> None:
    assert count_devices((ask(2),), [piece("a"), piece("b")], held("0", "1")).pods == {
        "a": 0,
        "b": 1,
    }


def test_devices_of_another_pool_or_driver_are_others() -> None:
    elsewhere = frozenset({(DRIVER, "b", "0"), ("other", "a", "1")})
    assert count_devices((ask(),), [piece("a")], elsewhere).pods == {"a": 3}
    other = piece("a", driver="other", pool="other")
    assert count_devices((ask(),), [piece("a"), other], frozenset()).pods == {"a": 3}


def test_a_class_means_devices_by_their_attributes() -> None:
    mixed = piece("a", device("0"), device("1", "mig"), device("2", "mig"))
    assert count_devices((ask(1, MIG),), [mixed], frozenset()).pods == {"a": 2}
    both = (ask(1, GPU, "gpu"), ask(1, MIG, "mig"))
    assert count_devices(both, [mixed], frozenset()).pods == {"a": 1}
    assert count_devices(both, [mixed], frozenset()).why == "1 × gpu, 1 × mig"


def test_of_an_old_generation_nothing_is_left() -> None:
    old = piece("a", device("0"), device("9"), generation=1)
    new = piece("a", device("0"), generation=2)
    assert count_devices((ask(),), [old, new], frozenset()).pods == {"a": 1}


def test_a_pool_in_several_slices_is_counted_when_it_is_whole() -> None:
    first = piece("a", device("0"), slices=2)
    second = piece("a", device("1"), slices=2)
    assert count_devices((ask(),), [first, second], frozenset()).pods == {"a": 2}
    part = count_devices((ask(),), [first], frozenset())
    assert part.pods is None
    assert "1 of 2 slices are published" in part.why


@pytest.mark.parametrize(
    ("slices", "asks", "why"),
    [
        ([piece(None)], (ask(),), "belong to no single node"),
        ([piece("a", uncounted="its devices are parts of others")], (ask(),), "parts of others"),
        ([piece("a", device("0", None))], (ask(1, GPU),), "lacks an attribute"),
        ([piece("a")], (ask(1, ANY, "all"), ask(1, GPU, "gpu")), "of several classes"),
    ],
)
def test_what_cannot_be_told_is_not_guessed(
    slices: list[DeviceSlice], asks: tuple[DeviceAsk, ...], why: str
) -> None:
    count = count_devices(asks, slices, frozenset())
    assert count.pods is None
    assert why in count.why


def test_what_another_driver_publishes_makes_nothing_uncertain() -> None:
    odd = piece(None, driver="other", uncounted="its devices are parts of others")
    assert count_devices((ask(),), [piece("a"), odd], frozenset()).pods == {"a": 3}


@given(
    st.lists(st.integers(0, 6), max_size=5),
    st.sets(st.tuples(st.integers(0, 5), st.integers(0, 6))),
    st.integers(1, 4),
)
def test_no_more_is_promised_than_is_free_and_a_held_device_never_makes_room(
    sizes: list[int], taken: set[tuple[int, int]], each: int
) -> None:
    slices = [
        replace(piece(str(n)), devices=tuple(device(str(i)) for i in range(size)))
        for n, size in enumerate(sizes)
    ]
    holds = frozenset((DRIVER, str(node), str(index)) for node, index in taken)
    pods = count_devices((ask(each),), slices, holds).pods
    assert pods is not None
    for number, size in enumerate(sizes):
        free = sum(1 for index in range(size) if (number, index) not in taken)
        assert pods[str(number)] == free // each
    less = count_devices((ask(each),), slices, holds | {(DRIVER, "0", "0")}).pods
    assert less is not None
    assert all(less[node] <= pods[node] for node in pods)
