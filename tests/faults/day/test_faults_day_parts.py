"""The parts of the stage of a bad day do what a fault tells them, and otherwise nothing."""

from __future__ import annotations

import json
import socket
import struct
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import REGISTRY, query_context
from tests.faults.day.hollow import HollowPod
from tests.faults.day.names import Mood, NameServer
from tests.faults.day.numbers import TRUTH, Lie, Numbers
from tests.faults.day.telemetry_faults import _every_other_pod, _of_others, _twice
from tests.faults.day.witness import rolls
from tests.faults.manner import Manner
from tests.faults.sight import Sight

WINDOW_S = 6


def _pod(name: str, *, profile: str = "", ready: bool = True) -> HollowPod:
    return HollowPod(namespace="ns", name=name, app="llama", profile=profile, ready=ready)


PODS = (_pod("a"), _pod("b", profile="eagle"), _pod("c", ready=False))


@pytest.fixture
def numbers() -> Iterator[Numbers]:
    with Numbers(lambda: PODS, WINDOW_S) as running:
        running.load("ns", "llama", 4.0)
        yield running


def _asked(numbers: Numbers, query: str, time: float = 100.0) -> Any:
    context = query_context(Endpoint(name="x", url="http://x"), WINDOW_S)
    form = {"query": REGISTRY[query].render(context), "time": str(time)}
    url = f"http://127.0.0.1:{numbers.port}/api/v1/query"
    with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode(), timeout=10) as answer:
        return json.loads(answer.read())["data"]["result"]


def _values(numbers: Numbers, query: str) -> dict[str, str]:
    return {each["metric"]["pod"]: each["value"][1] for each in _asked(numbers, query)}


def test_ready_pods_have_the_load_that_they_were_given(numbers: Numbers) -> None:
    assert _values(numbers, "decode_concurrency") == {"a": "4.0", "b": "4.0"}
    numbers.load("ns", "llama", 40.0)
    assert _values(numbers, "decode_concurrency") == {"a": "40.0", "b": "40.0"}


def test_only_a_pod_that_speculates_has_drafts(numbers: Numbers) -> None:
    assert _values(numbers, "drafts").keys() == {"b"}
    tokens = _values(numbers, "generated_tokens")
    assert float(tokens["b"]) == 2.0 * float(tokens["a"])


def test_a_query_that_it_does_not_know_finds_nothing(numbers: Numbers) -> None:
    assert _asked(numbers, "acceptance" if "acceptance" in REGISTRY else "preemptions") == []


def test_it_lies_until_it_tells_the_truth_again(numbers: Numbers) -> None:
    numbers.tell(Lie(spoil=lambda _, series: [(labels, "NaN") for labels, _ in series]))
    assert set(_values(numbers, "decode_concurrency").values()) == {"NaN"}
    numbers.tell(Lie(down=True))
    with pytest.raises((OSError, urllib.error.URLError)):
        _asked(numbers, "decode_concurrency")
    numbers.tell(TRUTH)
    assert set(_values(numbers, "decode_concurrency").values()) == {"4.0"}


def test_each_lie_changes_what_its_name_says() -> None:
    series = [({"namespace": "ns", "pod": each}, "4.0") for each in ("a", "b")]
    assert [each[0]["pod"] for each in _every_other_pod("", series)] == ["a"]
    assert [each[0]["pod"] for each in _of_others("", series)] == ["a-gone", "b-gone"]
    assert [each[1] for each in _twice("", series)] == ["4.0", "4.0", "40.0", "40.0"]


def _question(name: str) -> bytes:
    labels = b"".join(bytes([len(each)]) + each.encode() for each in name.split("."))
    return struct.pack("!HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + b"\0\x01\0\x01"


def test_a_name_server_answers_by_its_mood() -> None:
    server = NameServer("127.0.0.1", to="192.0.2.7")
    assert server._answer(_question("api.bad-day.test"))[-4:] == socket.inet_aton("192.0.2.7")
    server.mood = Mood.FAILING
    answer = server._answer(_question("api.bad-day.test"))
    assert struct.unpack("!H", answer[2:4])[0] & 0xF == 2  # SERVFAIL
    assert struct.unpack("!H", answer[6:8])[0] == 0
    server._socket.close()


async def test_a_manner_refuses_each_so_manyth_request() -> None:
    half = Manner(status=500, every=2)
    answers = [await half.answer() for _ in range(4)]
    assert [each is not None for each in answers] == [True, False, True, False]
    told = await Manner(status=429, retry_after_s=3).answer()
    assert told is not None
    assert (told.status, told.headers["Retry-After"]) == (429, "3")
    assert await Manner().answer() is None


@pytest.mark.parametrize(
    ("status", "under_way"),
    [
        ({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2}, False),
        ({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2}, True),
        ({"observedGeneration": 2, "replicas": 3, "updatedReplicas": 2}, True),
        ({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1}, True),
    ],
)
def test_a_roll_is_seen_by_the_deployment_alone(status: dict[str, int], under_way: bool) -> None:
    target = {"metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status}
    assert rolls(Sight(serving={}, target=target, pods=())) is under_way
