"""Statuses and Events on a real API server."""

import dataclasses
from typing import Any

import pytest

from ridgeline.api.serving import parse_serving
from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import NotFoundError, StaleVersionError
from ridgeline.cluster.look import LookApi
from ridgeline.cluster.objects import ServingObject, trim_serving
from ridgeline.cluster.reporting import EventNote, EventType, ReportingApi
from ridgeline.policy.facts import Problem
from ridgeline.policy.roll_status import roll_of
from ridgeline.policy.status import Document, slow_memory_of, status_document
from ridgeline.terms.names import API_VERSION, SERVING_PLURAL, STATUS_MANAGER
from ridgeline.terms.reasons import Reason
from tests.cluster.handle import Cluster
from tests.component.cluster.workloads import serving
from tests.unit.policy.moments import facts
from tests.unit.policy.reports import REPORTS, Shape, report

pytestmark = pytest.mark.usefixtures("crds")

NOW = 1_800_000_000.0


async def made(api: KubernetesApi, room: str, name: str) -> ServingObject:
    collection = path_of(API_VERSION, SERVING_PLURAL, room)
    return trim_serving(await api.request("POST", collection, body=serving(room, name)))


@pytest.mark.parametrize("shape", REPORTS, ids=lambda shape: shape.name)
async def test_every_document_comes_back_as_it_was_written(
    api: KubernetesApi, room: str, name: str, shape: Shape
) -> None:
    """Else the operator would find a difference in every pass, and write for ever."""
    item = await made(api, room, name)
    document = status_document(shape.report, {})

    written = await ReportingApi(api, instance="test").apply_status(item, document)
    again = await ReportingApi(api, instance="test").apply_status(written, document)

    assert written.status == document
    assert again.resource_version == written.resource_version
    assert written.generation == item.generation
    assert written.spec == item.spec
    assert status_document(shape.report, written.status) == document
    assert roll_of(written.status) == shape.report.roll
    assert slow_memory_of(written.status) == shape.report.memory
    body = await api.request("GET", path_of(API_VERSION, SERVING_PLURAL, room, name))
    read = parse_serving(body, strict=True).status.document()
    assert without_empty_lists(read) == document


async def test_any_text_comes_back_as_it_was_written(
    api: KubernetesApi, room: str, name: str
) -> None:
    """Names, answers of a Prometheus, annotations: anything may stand in a message."""
    item = await made(api, room, name)
    odd = '💥 ä \x7f \x85 \x00 \u2028 \ufeff \uffff \ud800 \\ud83d " \n end'
    problem = Problem(reason=Reason.TARGET_NOT_FOUND, message=odd)
    document = status_document(report(facts(target=problem)), {})

    written = await ReportingApi(api, instance="test").apply_status(item, document)

    assert written.status == document
    assert "💥 ä" in written.status["lastDecision"]["message"]


async def test_an_edit_that_was_not_seen_is_not_reported_about(
    api: KubernetesApi, room: str, name: str
) -> None:
    item = await made(api, room, name)
    where = path_of(API_VERSION, SERVING_PLURAL, room, name)
    edit = {"spec": {"suspend": True}}
    await api.request("PATCH", where, body=edit, content_type="application/merge-patch+json")

    with pytest.raises(StaleVersionError):
        await ReportingApi(api, instance="test").apply_status(
            item, status_document(REPORTS[0].report, {})
        )


async def test_a_smaller_document_takes_the_rest_away(
    api: KubernetesApi, room: str, name: str
) -> None:
    reports = ReportingApi(api, instance="test")
    item = await made(api, room, name)
    documents: list[Document] = [status_document(each.report, {}) for each in REPORTS]
    full = max(documents, key=lambda each: len(str(each)))
    small = min(documents, key=lambda each: len(str(each)))
    assert set(full) - set(small)
    item = await reports.apply_status(item, full)

    item = await reports.apply_status(item, small)

    assert item.status == small


async def test_a_status_names_its_writer_and_leaves_the_rest_to_others(
    api: KubernetesApi, room: str, name: str
) -> None:
    item = await made(api, room, name)
    await ReportingApi(api, instance="test").apply_status(
        item, status_document(REPORTS[0].report, {})
    )

    body = await api.request("GET", path_of(API_VERSION, SERVING_PLURAL, room, name))

    mine = [each for each in body["metadata"]["managedFields"] if each["manager"] == STATUS_MANAGER]
    assert [(each["subresource"], each["operation"]) for each in mine] == [("status", "Apply")]
    assert set(mine[0]["fieldsV1"]) == {"f:status"}


async def test_a_serving_that_is_gone_gets_no_status(
    api: KubernetesApi, room: str, name: str
) -> None:
    item = await made(api, room, name)
    await api.request("DELETE", path_of(API_VERSION, SERVING_PLURAL, room, name))
    document = status_document(REPORTS[0].report, {})

    with pytest.raises(NotFoundError):
        await ReportingApi(api, instance="test").apply_status(item, document)
    again = await made(api, room, name)
    with pytest.raises(StaleVersionError):
        await ReportingApi(api, instance="test").apply_status(item, document)

    body = await api.request("GET", path_of(API_VERSION, SERVING_PLURAL, room, name))
    assert body["metadata"]["uid"] == again.uid
    assert "status" not in body


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        ("roll from none to eagle2", "roll from none to eagle2"),
        ("x" * 5000, "x" * 1021 + "…"),
        ("é" * 1000, "é" * 510 + "…"),
        ("", ""),
    ],
    ids=["short", "long", "long and not ASCII", "empty"],
)
async def test_an_event_arrives(
    control_plane: Cluster, api: KubernetesApi, room: str, name: str, note: str, shown: str
) -> None:
    item = await made(api, room, name)
    event = EventNote(
        type=EventType.WARNING, reason=Reason.FIELD_CONFLICT, action="Hold", note=note
    )

    await ReportingApi(api, instance="i" * 300).send_event(item, event, NOW)

    field = f"involvedObject.uid={item.uid}"
    found = control_plane.kubectl("get", "events", "-n", room, "--field-selector", field)["items"]
    assert [(each["reason"], each["type"], each.get("message", "")) for each in found] == [
        ("FieldConflict", "Warning", shown)
    ]
    assert found[0]["involvedObject"]["name"] == name
    assert len(await LookApi(api).events(item)) == 1


async def test_the_same_event_twice_is_two_and_a_long_name_is_no_obstacle(
    api: KubernetesApi, room: str, name: str
) -> None:
    # The cut of this name falls on a dot, which no name may end with before another dot.
    long_name = (name + "a" * 200)[:199] + "." + "b" * 20
    body = serving(room, long_name)
    body["spec"]["targetRef"]["name"] = name
    collection = path_of(API_VERSION, SERVING_PLURAL, room)
    item = trim_serving(await api.request("POST", collection, body=body))
    event = EventNote(
        type=EventType.NORMAL, reason=Reason.ROLL_STARTED, action="Roll", note="roll to none"
    )
    reports = ReportingApi(api, instance="test")

    await reports.send_event(item, event, NOW + 1)
    await reports.send_event(item, event, NOW)

    times = [each["eventTime"] for each in await LookApi(api).events(item)]
    assert times == sorted(times)
    assert len(times) == 2


async def test_one_serving_is_read_with_its_events_only(
    api: KubernetesApi, room: str, name: str
) -> None:
    item = await made(api, room, name)
    other: Any = dataclasses.replace(item, uid="another")

    assert await LookApi(api).serving(room, name) == item
    assert await LookApi(api).events(other) == ()
    with pytest.raises(NotFoundError):
        await LookApi(api).serving(room, f"{name}-not")


def without_empty_lists(value: Any) -> Any:
    """Leave out lists that nobody set: the models read them as empty."""
    if isinstance(value, dict):
        kept = {key: without_empty_lists(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each != []}
    return value
