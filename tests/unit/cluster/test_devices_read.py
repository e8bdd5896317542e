"""Claimed devices as they are kept: what is counted, and what makes a count uncertain."""

from typing import Any

import pytest

from ridgeline.cluster.devices import (
    Devices,
    SliceObject,
    trim_claim,
    trim_class,
    trim_slice,
    trim_template,
)
from ridgeline.cluster.shape import trim_shape
from ridgeline.cluster.store import Shelf
from ridgeline.policy.devices import Selector
from ridgeline.policy.placement import PodClaim, PodNeeds
from tests.unit.cluster.device_bodies import (
    BY_DRIVER,
    DRIVER,
    claim_body,
    class_body,
    device_body,
    published,
    request,
    slice_body,
    template_body,
)

NEEDS = PodNeeds(claims=(PodClaim(template="gpu"),))


def test_a_template_tells_its_claims() -> None:
    claims = [
        {"name": "own", "resourceClaimTemplateName": "gpu"},
        {"name": "ours", "resourceClaimName": "shared"},
    ]
    pod = {"containers": [{"name": "vllm"}], "resourceClaims": claims}
    shape = trim_shape({"template": {"spec": pod}})
    assert shape.needs.claims == (PodClaim(template="gpu"), PodClaim(shared="shared"))


class TestSlices:
    def test_a_slice_tells_its_devices_with_qualified_attributes(self) -> None:
        body = slice_body("s", devices=[device_body("gpu-0"), device_body("gpu-1", None)])
        body["spec"]["devices"][0]["attributes"]["other.io/kind"] = {"string": "x"}
        told = trim_slice(body).published
        assert (told.driver, told.pool, told.node, told.uncounted) == (DRIVER, "n", "n", "")
        assert dict(told.devices[0].attributes) == {f"{DRIVER}/type": "gpu", "other.io/kind": "x"}
        assert dict(told.devices[1].attributes) == {}

    def test_in_the_oldest_version_they_stand_one_level_deeper(self) -> None:
        device = {"name": "gpu-0", "basic": {"attributes": {"type": {"string": "gpu"}}}}
        told = trim_slice(slice_body("s", devices=[device])).published
        assert dict(told.devices[0].attributes) == {f"{DRIVER}/type": "gpu"}
        tainted = {"name": "gpu-0", "basic": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
        assert "tainted" in trim_slice(slice_body("s", devices=[tainted])).published.uncounted

    @pytest.mark.parametrize(
        ("body", "why"),
        [
            (slice_body("s", sharedCounters=[{"name": "c"}]), "parts of others"),
            (
                slice_body("s", devices=[device_body("d", consumesCounters=[{}])]),
                "parts of others",
            ),
            (
                slice_body("s", devices=[device_body("d", allowMultipleAllocations=True)]),
                "device d may be shared",
            ),
            (
                slice_body("s", devices=[device_body("d", taints=[{"key": "k"}])]),
                "device d is tainted",
            ),
        ],
    )
    def test_what_cannot_be_counted_is_told(self, body: dict[str, Any], why: str) -> None:
        assert why in trim_slice(body).published.uncounted

    @pytest.mark.parametrize("where", [{"allNodes": True}, {"nodeSelector": {}}])
    def test_devices_of_several_nodes_have_no_node(self, where: dict[str, Any]) -> None:
        assert trim_slice(slice_body("s", node=None, **where)).published.node is None


class TestClaims:
    def test_a_claim_holds_what_is_allocated_to_it(self) -> None:
        assert trim_claim(claim_body("c")).held == frozenset()
        held = ((DRIVER, "n", "gpu-0"), (DRIVER, "n", "gpu-1"))
        assert trim_claim(claim_body("c", *held)).held == frozenset(held)

    def test_an_administrators_look_holds_nothing(self) -> None:
        looked = claim_body("c", (DRIVER, "n", "gpu-0"), adminAccess=True)
        assert trim_claim(looked).held == frozenset()


class TestClasses:
    @pytest.mark.parametrize(
        ("expression", "attributes"),
        [
            (BY_DRIVER, ()),
            (f"device.driver=='{DRIVER}'", ()),
            # As NVIDIA's driver writes its class.
            (
                f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'",
                ((f"{DRIVER}/type", "gpu"),),
            ),
            (
                f'({BY_DRIVER}) && (device.attributes["x.io"].kind == "a b")',
                (("x.io/kind", "a b"),),
            ),
        ],
    )
    def test_what_a_class_means(
        self, expression: str, attributes: tuple[tuple[str, str], ...]
    ) -> None:
        selector = Selector(driver=DRIVER, attributes=attributes)
        assert trim_class(class_body(DRIVER, expression)).selector == selector

    @pytest.mark.parametrize(
        "expression",
        [
            "",
            "true",
            f'device.driver != "{DRIVER}"',
            f"!({BY_DRIVER})",
            f'{BY_DRIVER} || device.driver == "b"',
            f'{BY_DRIVER} && device.capacity["x"].memory.isGreaterThan(quantity("1Gi"))',
            f'{BY_DRIVER} && device.attributes["x"].index == 0',
            f'{BY_DRIVER} && device.driver == "b"',
            'device.attributes["x"].type == "gpu"',
            f'device.attributes["x"].type == "gpu" && {BY_DRIVER}',
            'device.driver == "a" + "b"',
            'device.driver == "a\\"b"',
            'device.driver.startsWith("gpu")',
        ],
    )
    def test_any_other_expression_is_not_guessed_at(self, expression: str) -> None:
        assert isinstance(trim_class(class_body(DRIVER, expression)).selector, str)

    def test_several_expressions_or_none_are_not_guessed_at(self) -> None:
        assert isinstance(trim_class(class_body(DRIVER, BY_DRIVER, "true")).selector, str)
        assert isinstance(trim_class({"metadata": class_body()["metadata"]}).selector, str)


class TestTemplates:
    @pytest.mark.parametrize(
        ("requests", "asked"),
        [
            ([request(2)], {DRIVER: 2}),
            ([request(None)], {DRIVER: 1}),
            ([request(2), request(1), request(4, "b")], {DRIVER: 3, "b": 4}),
            # As the oldest version has it.
            ([{"name": "gpu", "deviceClassName": DRIVER, "count": 3}], {DRIVER: 3}),
        ],
    )
    def test_how_many_devices_a_pod_asks_for(
        self, requests: list[dict[str, Any]], asked: dict[str, int]
    ) -> None:
        assert trim_template(template_body("gpu", *requests)).asked == asked

    @pytest.mark.parametrize(
        ("body", "why"),
        [
            (template_body("t", {"name": "g", "firstAvailable": [{}]}), "names alternatives"),
            (template_body("t", request(selectors=[{"cel": {}}])), "expression of its own"),
            (template_body("t", request(None, allocationMode="All")), "asks for all devices"),
            (template_body("t", request(adminAccess=True)), "as an administrator"),
            (template_body("t", request(capacity={"requests": {}})), "parts of devices"),
            (
                template_body("t", constraints=[{"matchAttribute": "x/y"}]),
                "ties devices to each other",
            ),
            ({"metadata": template_body("t")["metadata"]}, "asks for no device"),
        ],
    )
    def test_what_is_more_than_a_number_is_not_guessed_at(
        self, body: dict[str, Any], why: str
    ) -> None:
        asked = trim_template(body).asked
        assert isinstance(asked, str)
        assert why in asked


class TestCount:
    def known(self, **other: Any) -> Devices:
        devices = Devices()
        published(devices, slice_body("s"), **other)
        return devices

    def test_what_each_node_has_free(self) -> None:
        assert self.known().count("ns", NEEDS).pods == {"n": 2}

    def test_it_follows_every_change(self) -> None:
        devices = self.known()
        assert devices.count("ns", NEEDS).pods == {"n": 2}
        held = trim_claim(claim_body("c", (DRIVER, "n", "gpu-0")))
        devices.claims.put(held)
        assert devices.count("ns", NEEDS).pods == {"n": 1}
        devices.claims.drop((held.namespace, held.name), held.uid)
        assert devices.count("ns", NEEDS).pods == {"n": 2}
        devices.slices.lay_over(devices.slices.listing_started(), [])
        assert devices.count("ns", NEEDS).pods == {}

    def test_the_same_question_is_worked_out_once_for_each_state(self) -> None:
        devices = self.known()
        assert devices.count("ns", NEEDS) is devices.count("ns", NEEDS)

    @pytest.mark.parametrize(
        ("needs", "namespace", "why"),
        [
            (NEEDS, "other", "there is no ResourceClaimTemplate gpu"),
            (PodNeeds(claims=(PodClaim(shared="one"),)), "ns", "share ResourceClaim one"),
        ],
    )
    def test_what_is_not_there_is_not_known(
        self, needs: PodNeeds, namespace: str, why: str
    ) -> None:
        found = self.known().count(namespace, needs)
        assert found.pods is None
        assert why in found.why

    def test_what_cannot_be_told_says_why(self) -> None:
        devices = self.known()
        devices.classes.lay_over(devices.classes.listing_started(), [])
        assert "no DeviceClass" in devices.count("ns", NEEDS).why
        odd = trim_class(class_body(DRIVER, "true"))
        devices.classes.lay_over(devices.classes.listing_started(), [odd])
        assert devices.count("ns", NEEDS).why.startswith(f"DeviceClass {DRIVER} selects devices by")
        several = trim_template(template_body("gpu", {"name": "g", "firstAvailable": [{}]}))
        devices.templates.lay_over(devices.templates.listing_started(), [several])
        assert devices.count("ns", NEEDS).why == "ResourceClaimTemplate gpu names alternatives"

    @pytest.mark.parametrize("kind", ["slices", "claims", "classes", "templates"])
    def test_one_kind_out_of_reach_leaves_it_unknown(self, kind: str) -> None:
        devices = self.known()
        getattr(devices, kind).clear()
        assert not devices.readable
        assert "cannot be read" in devices.count("ns", NEEDS).why

    def test_what_is_forgotten_may_be_known_again(self) -> None:
        devices = self.known()
        devices.forget()
        assert devices.count("ns", NEEDS).pods is None
        published(devices, slice_body("s"))
        assert devices.count("ns", NEEDS).pods == {"n": 2}


def test_a_shelf_counts_what_changed_it() -> None:
    shelf: Shelf[SliceObject] = Shelf()
    item = trim_slice(slice_body("s"))
    assert shelf.put(item)
    assert not shelf.put(item)
    assert shelf.get(("", "s")) == item
    assert shelf.drop(("", "s"), item.uid) == item
    assert shelf.changes == 2
    assert shelf.lay_over(shelf.listing_started(), [trim_slice(slice_body("other"))])
    assert shelf.changes == 3
