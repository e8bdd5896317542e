"""Which Pods are scraped directly: live, Ready ones of the servings that name the endpoint."""

from dataclasses import replace
from typing import Any

import pytest

from ridgeline.cluster.objects import PodObject, ServingObject, trim_pod
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import SpecObject, Surroundings
from ridgeline.controller.readers import readers_of, scrape_targets
from ridgeline.settings.config import OperatorConfig, parse_config
from ridgeline.telemetry.reader import TelemetryReader
from ridgeline.telemetry.scrape import ScrapeReader
from ridgeline.telemetry.scrape_endpoint import ScrapeTarget
from tests.unit.cluster.bodies import pod_body, ready


def pod(name: str = "llama-5d9c-x1", **fields: Any) -> PodObject:
    body = pod_body(name, uid=f"uid-{name}", status={**ready(), "podIP": "10.1.2.3"})
    trimmed = trim_pod(body)
    assert trimmed is not None
    return replace(trimmed, **fields)


def serving(name: str = "llama", target: str = "llama", **spec: Any) -> ServingObject:
    return ServingObject(
        namespace="ns",
        name=name,
        uid=f"uid-{name}",
        generation=1,
        resource_version="1",
        created_at=0.0,
        deleting=False,
        spec={"targetRef": {"name": target}, **spec},
        status={},
    )


def config(**fields: Any) -> OperatorConfig:
    return parse_config({"telemetry": [{"source": "Pods", **fields}]})


def targets(
    listed: list[PodObject],
    servings: list[ServingObject],
    around: Surroundings | None = None,
    **fields: Any,
) -> tuple[ScrapeTarget, ...]:
    store = WatchStore()
    for each in servings:
        store.put_serving(each)
    for one in listed:
        store.put_pod(one)
    (endpoint,) = config(**fields).telemetry
    return scrape_targets(endpoint, store, around or Surroundings(sees_all_pods=True))


def test_a_ready_pod_of_a_serving() -> None:
    assert targets([pod(started_at=5.0)], [serving()]) == (
        ScrapeTarget(
            namespace="ns",
            pod="llama-5d9c-x1",
            process="uid-llama-5d9c-x1/5.0",
            host="10.1.2.3",
            port=8000,
        ),
    )


@pytest.mark.parametrize(
    "one",
    [
        pod(ready_since=None),
        pod(deleting=True),
        pod(address=None),
        pod(deployment="other"),
        pod(namespace="elsewhere"),
    ],
    ids=["not ready", "on its way out", "no address", "of another target", "another namespace"],
)
def test_other_pods_are_left_alone(one: PodObject) -> None:
    assert targets([one], [serving()]) == ()


def test_a_pod_of_two_servings_is_scraped_once() -> None:
    assert len(targets([pod()], [serving("a"), serving("b")])) == 1


def test_the_port_is_the_one_of_that_name() -> None:
    one = pod(ports=(("grpc", 9000), ("http", 8080)))
    assert [each.port for each in targets([one], [serving()])] == [8080]
    assert [each.port for each in targets([one], [serving()], pods={"portName": "grpc"})] == [9000]
    other = {"portName": "metrics", "port": 81}
    assert [each.port for each in targets([one], [serving()], pods=other)] == [81]


def test_a_container_that_starts_anew_is_another_process() -> None:
    first, second = (targets([pod(started_at=at)], [serving()])[0] for at in (5.0, 6.0))
    assert first.process != second.process


def test_only_servings_that_name_the_endpoint_count() -> None:
    pods = [pod(), pod("qwen-5d9c-x1", deployment="qwen")]
    named = serving("qwen", "qwen", telemetry="direct")
    assert [each.pod for each in targets(pods, [serving(), named])] == ["llama-5d9c-x1"]
    assert [each.pod for each in targets(pods, [serving(), named], name="direct")] == [
        "qwen-5d9c-x1"
    ]


def test_a_serving_may_name_it_by_its_policy() -> None:
    around = Surroundings(sees_all_pods=True)
    around.put_policy(
        SpecObject(
            name="fleet",
            uid="p",
            resource_version="1",
            generation=1,
            spec={"telemetry": "direct"},
            namespace="ns",
        )
    )
    by_policy = serving(policyRef={"name": "fleet"})
    assert len(targets([pod()], [by_policy], around, name="direct")) == 1
    assert targets([pod()], [by_policy], around) == ()
    # The serving's own word wins, and a policy that does not exist says nothing.
    own = serving(policyRef={"name": "fleet"}, telemetry="default")
    assert targets([pod()], [own], around, name="direct") == ()
    lost = serving(policyRef={"name": "nobody"})
    assert len(targets([pod()], [lost], around)) == 1


@pytest.mark.parametrize("spec", [{"targetRef": None}, {"targetRef": "x"}, {"policyRef": 3}])
def test_a_spec_that_is_wrong_breaks_nothing(spec: dict[str, Any]) -> None:
    broken = replace(serving("a"), spec={"targetRef": {"name": "other"}, **spec})
    store = WatchStore()
    store.put_serving(serving())
    store.put_pod(pod())
    store.servings.put(broken)
    (endpoint,) = config().telemetry
    assert len(scrape_targets(endpoint, store, Surroundings(sees_all_pods=True))) == 1


def test_each_endpoint_gets_its_kind_of_reader() -> None:
    both = parse_config({"telemetry": [{"url": "http://x"}, {"name": "direct", "source": "Pods"}]})
    readers = readers_of(both, WatchStore(), Surroundings(sees_all_pods=True))
    assert isinstance(readers["default"], TelemetryReader)
    assert isinstance(readers["direct"], ScrapeReader)
    assert readers["direct"].window_seconds == 120


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("fd00::7", "fd00::7"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        (None, None),
        ("", None),
        ("pod.example", None),
        ("127.0.0.1", None),
        ("::1", None),
        ("::ffff:127.0.0.1", None),
        ("169.254.169.254", None),
        ("fe80::1", None),
        ("224.0.0.1", None),
        ("0.0.0.0", None),
    ],
)
def test_an_address_leads_to_a_pod_or_is_none(address: str | None, kept: str | None) -> None:
    trimmed = trim_pod(pod_body(status={**ready(), "podIP": address}))
    assert trimmed is not None
    assert trimmed.address == kept


def test_named_tcp_ports_are_kept() -> None:
    body = pod_body()
    body["spec"] = {
        "containers": [
            {"name": "a", "ports": [{"containerPort": 1}, {"name": "http", "containerPort": 2}]},
            {"name": "b", "ports": [{"name": "dns", "containerPort": 3, "protocol": "UDP"}]},
            {"name": "c", "ports": [{"name": "grpc", "containerPort": 4, "protocol": "TCP"}]},
        ]
    }
    trimmed = trim_pod(body)
    assert trimmed is not None
    assert trimmed.ports == (("http", 2), ("grpc", 4))
