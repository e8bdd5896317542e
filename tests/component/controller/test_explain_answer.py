"""The operator's own answer, over its real HTTP server: bounded, without addresses, read-only."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller import passes as passes_module
from ridgeline.controller.endpoints import OwnEndpoints
from ridgeline.controller.explain import Seen, told, view_of
from ridgeline.controller.explain_answer import MOST_CHARACTERS, MOST_ENTRIES, _bounded
from ridgeline.controller.explain_live import NotAnAnswerError, live_of
from ridgeline.controller.explain_operator import ASKS, OperatorPlace, ask_operator
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.passes import MOST_BYTES
from tests.component.controller import explain_states as states
from tests.component.controller.explain_looks import answer_of, looked
from tests.component.controller.test_controller_explain import page_of
from tests.component.controller.test_controller_parents import ALL, ALWAYS, owned
from tests.component.controller.world import HIGH, LOW, Process, World, settled, spec

PATH = "/explain/default/llama"


@contextmanager
def served(process: Process) -> Iterator[int]:
    """Serve an operator's pages; give the port."""
    endpoints = OwnEndpoints(
        OperatorMetrics().registry,
        port=0,
        alive=lambda: None,
        ready=lambda: None,
        explain=process.passes.answer,
    )
    endpoints.start()
    try:
        yield endpoints.port
    finally:
        endpoints.stop()


def asked(port: int, path: str = PATH, method: str = "GET") -> tuple[int, str, str]:
    """Return status, type and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, str(answer.getheader("Content-Type")), answer.read().decode()
    finally:
        connection.close()


def document(world: World) -> dict[str, Any]:
    status, body = world.process.passes.answer(PATH)
    assert status == 200, body
    found: dict[str, Any] = json.loads(body)
    return found


async def test_it_is_one_json_object_that_says_who_answers_and_what_the_last_pass_came_to() -> None:
    world = await settled()
    world.cluster.advance(world.cluster.now + 7)
    with served(world.process) as port:
        status, content_type, body = asked(port, f"{PATH}?verbose")
    assert (status, content_type) == (200, "application/json")
    found = json.loads(body)
    assert (found["instance"], found["leader"]) == ("operator", True)
    assert (found["namespace"], found["serving"]) == ("default", "llama")
    assert found["uid"] == world.cluster.serving("llama").uid
    assert 7 <= found["passAgeSeconds"] <= 7 + found["tickSeconds"]
    decision = found["decision"]
    assert decision["reason"] == world.status()["lastDecision"]["reason"] == "BestProfileActive"
    assert "completeness" in decision["passed"]
    assert {"name", "value", "relation", "limit", "consequence"} == set(decision["compared"][0])
    assert found["concurrency"] == pytest.approx(5, rel=0.1)
    assert any(each["what"].startswith("replica ") for each in found["facts"])
    assert {"what": "switches", "value": "0 of 6 in the last 24 hours"} in found["remembered"]
    assert found["cutoffTable"][0]["profile"] == "eagle2"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
async def test_nothing_but_reading_is_offered(method: str) -> None:
    world = await settled()
    before = len(world.cluster.writes)
    with served(world.process) as port:
        assert asked(port, method=method)[0] == 501
        assert asked(port)[0] == 200
    await world.run(60)
    assert len(world.cluster.writes) == before


@pytest.mark.parametrize(
    "path",
    [
        "/explain/",
        "/explain/default",
        "/explain/default/",
        "/explain/default/other",
        "/explain/other/llama",
        "/explain/default/llama/more",
        "/explain/../metrics",
        "/explain/default/%2e%2e",
        "/explain/DEFAULT/llama",
    ],
)
async def test_what_is_not_there_is_not_found_and_says_so(path: str) -> None:
    world = await settled()
    with served(world.process) as port:
        status, content_type, body = asked(port, path)
    assert (status, content_type) == (404, "application/json")
    assert json.loads(body).keys() == {"message"}


async def test_of_a_serving_that_went_nothing_is_kept_and_its_namesake_has_no_pass_yet() -> None:
    world = await settled()
    world.cluster.delete_serving("llama")
    await world.run(5)
    assert world.process.passes.answer(PATH)[0] == 404
    assert world.process.passes._passes == {}
    world = await settled()
    world.cluster.delete_serving("llama")
    world.cluster.create_serving("llama", spec())
    world.cluster.advance(world.cluster.now + 1)
    status, body = world.process.passes.answer(PATH)
    assert status == 404
    assert b"no pass over" in body


async def test_of_a_namesake_whose_forerunners_end_was_not_told_there_is_no_pass_yet() -> None:
    world = await settled()
    serving = world.cluster.serving("llama")
    version = str(int(serving.resource_version) + 1_000_000)
    namesake = replace(serving, uid="another", resource_version=version)
    world.process.store.put_serving(namesake)
    status, body = world.process.passes.answer(PATH)
    assert status == 404
    assert b"no pass over" in body


async def test_a_pass_that_ends_after_its_serving_went_is_not_kept() -> None:
    world = await settled()
    passes = world.process.passes
    (kept,) = passes._passes.values()
    world.cluster.delete_serving("llama")
    await world.run(5)
    passes.saw(kept.view, kept.told, kept.told)
    assert passes._passes == {}


async def test_an_answer_that_is_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await settled()
    monkeypatch.setattr(passes_module, "MOST_BYTES", 1000)
    status, body = world.process.passes.answer(PATH)
    assert status == 500
    assert b"longer than 1000 bytes" in body


def test_lists_in_an_answer_are_bounded_and_numbers_finite() -> None:
    assert _bounded(["x"] * (MOST_ENTRIES + 1)) == ["x"] * MOST_ENTRIES
    assert _bounded([1.5, float("nan"), float("inf")]) == [1.5, None, None]


async def test_a_fleet_of_hundreds_and_long_texts_make_no_long_answer() -> None:
    world = World()
    world.deploy(users=LOW, replicas=600)
    world.cluster.create_serving("llama", spec())
    world.start()
    await world.run(90)
    world.telemetry.faults.error = "x" * 100_000
    await world.run(30)
    found = document(world)
    assert len(json.dumps(found)) < MOST_BYTES
    assert len(found["facts"]) <= MOST_ENTRIES
    assert "more replicas" in {each["what"] for each in found["facts"]}
    assert max(len(each["value"]) for each in found["facts"]) == MOST_CHARACTERS


async def test_it_holds_no_address_and_no_name_of_a_host() -> None:
    world = await settled()
    world.telemetry.faults.error = (
        "Cannot connect to host prometheus.monitoring:9090 (10.1.2.3), see http://wiki.corp/x"
    )
    await world.run(60)
    text = json.dumps(document(world))
    for secret in ("prometheus.monitoring", "10.1.2.3", "wiki.corp"):
        assert secret not in text
    assert "[address]" in text


async def test_leader_and_standby_both_answer_and_say_which_they_are() -> None:
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    leader, standby = world.start(who="a"), world.start(who="b", held=False)
    await world.run(180)
    answers = [json.loads(each.passes.answer(PATH)[1]) for each in (leader, standby)]
    assert [(each["instance"], each["leader"]) for each in answers] == [("a", True), ("b", False)]
    assert {each["decision"]["reason"] for each in answers} == {"BestProfileActive"}


async def test_where_it_has_dwelled_the_answer_knows_what_a_look_at_one_moment_does_not() -> None:
    make = states.from_the_start(states.short_of_drain)
    world, around = await make()
    alone = await looked(world, around, lambda seen, _: seen, asks=False)
    found = await looked(world, around, lambda seen, _: seen, asks=True)
    assert alone.decided is not None
    assert found.decided is not None
    assert alone.decided["reason"] == "Dwelling"
    assert found.decided["reason"] == "DrainTooShort"
    (dwelling,) = [each for each in found.remembered if each.what == "dwelling towards none"]
    assert dwelling.age_seconds is not None
    assert dwelling.age_seconds > 600
    assert "Hold (DrainTooShort)" in page_of(found)


async def test_where_parents_are_written_the_answer_knows_it_and_a_person_cannot() -> None:
    world = owned(config="", users=LOW, rollout=ALWAYS)
    world.start(parents=ALL)
    await world.run(900)
    alone = await looked(world, Surroundings(), lambda seen, _: seen, asks=False)
    found = await looked(world, Surroundings(), lambda seen, _: seen, asks=True)
    assert alone.decided is not None
    assert alone.decided["reason"] != "CanaryImpossible"
    assert found.cause is not None
    assert found.cause.reason == found.decided["reason"] == "CanaryImpossible"  # type: ignore[index]
    assert "which cannot hold its rollout back for one" in found.cause.message


async def test_an_answer_that_is_too_old_is_no_answer_and_the_operator_is_called_silent() -> None:
    world = await settled()
    view = await looked(world, Surroundings(), lambda seen, _: seen, asks=True)
    assert view.live is not None
    old = replace(view.live, age_seconds=300.0)
    serving, now = world.cluster.serving("llama"), world.cluster.now
    seen = view_of(world.process.store, serving, Surroundings(), None, now)
    found = told(Seen(serving=serving, events=(), view=seen, snapshot=None, live=old))
    assert found.cause is not None
    assert found.cause.reason == "OperatorSilent"
    assert "has made no pass over it for 300 s" in found.cause.message
    assert found.decided is None
    assert "Without the operator's own answer: operator (the leader)" in page_of(found)


async def test_an_address_of_the_port_is_asked_without_the_api_server() -> None:
    world = await settled()
    serving = world.cluster.serving("llama")
    with served(world.process) as port:
        place = OperatorPlace(namespace="a", name="b", url=f"http://127.0.0.1:{port}")
        found = await ask_operator(None, place, serving)  # type: ignore[arg-type]
        assert not isinstance(found, str), found
        assert found.leader
        other = replace(serving, name="other")
        assert "looks after no SpeculativeServing default/other" in str(
            await ask_operator(None, place, other)  # type: ignore[arg-type]
        )
    gone = await ask_operator(None, place, serving)  # type: ignore[arg-type]
    assert isinstance(gone, str)
    assert "does not answer" in gone
    assert "\n" not in gone


async def test_an_answer_about_another_object_of_that_name_is_refused() -> None:
    world = await settled()
    serving = world.cluster.serving("llama")
    answer_of(world)
    with pytest.raises(NotAnAnswerError, match="another object"):
        live_of(document(world), replace(serving, uid="another"))


@pytest.mark.parametrize(
    "body", [{}, {"uid": "x"}, {"message": "no"}, {"uid": "x", "decision": []}, {"decision": None}]
)
async def test_what_is_no_answer_is_refused(body: dict[str, Any]) -> None:
    world = await settled(users=HIGH)
    with pytest.raises(NotAnAnswerError, match="no operator of this version"):
        live_of(body, world.cluster.serving("llama"))


async def test_the_answer_is_newer_than_the_word_that_the_status_keeps() -> None:
    world = await settled()
    world.users["llama"] = HIGH
    until = lambda: world.status()["lastDecision"]["reason"] == "Dwelling"  # noqa: E731
    assert await world.run(300, until=until)
    await world.run(15)
    kept = world.status()["lastDecision"]
    assert kept["reason"] == "Dwelling"
    found = await looked(world, Surroundings(), lambda seen, _: seen, asks=True)
    assert found.cause is not None
    assert found.cause.reason == "Dwelling"
    assert found.cause.message != kept["message"]
    assert "for 15 s (needs 30 s)" in found.cause.message


class Proxy:
    """The API server's proxy of a Service with several replicas: each in its turn."""

    def __init__(self, *processes: Process) -> None:
        self._processes = processes
        self.asked: list[str] = []

    async def request(self, method: str, path: str) -> dict[str, Any]:
        self.asked.append(f"{method} {path}")
        process = self._processes[(len(self.asked) - 1) % len(self._processes)]
        found: dict[str, Any] = json.loads(process.passes.answer(PATH)[1])
        return found


async def test_a_service_is_asked_until_the_leader_answers_and_a_standby_is_better_than_none() -> (
    None
):
    world = World()
    world.deploy()
    world.cluster.create_serving("llama", spec())
    standby, leader = world.start(who="b", held=False), world.start(who="a")
    await world.run(120)
    serving = world.cluster.serving("llama")
    place = OperatorPlace(namespace="ops", name="ridgeline")
    both = Proxy(standby, leader)
    found = await ask_operator(both, place, serving)  # type: ignore[arg-type]
    assert not isinstance(found, str)
    assert (found.instance, found.leader, len(both.asked)) == ("a", True, 2)
    service = "/api/v1/namespaces/ops/services/http:ridgeline:http/proxy"
    assert set(both.asked) == {f"GET {service}{PATH}"}
    alone = Proxy(standby)
    found = await ask_operator(alone, place, serving)  # type: ignore[arg-type]
    assert not isinstance(found, str)
    assert (found.instance, found.leader, len(alone.asked)) == ("b", False, ASKS)
