"""The benchmark of scale: its arithmetic, what it reads out of an audit log, and its answers."""

import itertools
import json
import math
import urllib.request
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from benchmarks import scale_fleet as fleet
from benchmarks.scale import default_sizes, main, measured
from benchmarks.scale_answers import Answers, Asked, moved_on, repeated
from benchmarks.scale_copies import Models, copies
from benchmarks.scale_exporter import Page, lines, shelf_of
from benchmarks.scale_process import (
    Call,
    Usage,
    calls_in,
    first_statuses,
    most_at_once,
    throttled,
)
from benchmarks.scale_stage import matcher_of, queries_of
from benchmarks.scale_table import Measured, document, goals, growth_exponent, slope, table
from benchmarks.scale_watch import (
    Settings,
    Start,
    Ticks,
    bare_decoding,
    settled_at,
    spent_in,
)
from ridgeline.cluster.objects import trim_pod
from ridgeline.controller.metrics import OperatorMetrics
from ridgeline.controller.time_metrics import Phase
from ridgeline.telemetry.parse import parse_answer
from ridgeline.telemetry.queries import FAST, REGISTRY
from tests.cluster.errors import ClusterError

KEYS = {
    "cpu_seconds_per_tick",
    "ratio_to_bare_decoding",
    "growth_exponent",
    "bytes_per_replica",
    "queries_per_tick",
    "wall_seconds_per_tick",
    "api_calls_per_tick",
    "bytes_read_per_tick",
    "writes_at_steady_state",
    "first_decision_ticks",
    "peak_concurrent_requests",
}
USER = "system:serviceaccount:ridgeline-system:ridgeline"


def size(servings: int, **changes: Any) -> Measured:
    """A fleet of that size that costs a millisecond a serving and 10 kB a replica."""
    given: dict[str, Any] = {
        "servings": servings,
        "replicas": 20,
        "ticks": 10,
        "cpu_seconds_per_tick": servings * 1e-3,
        "wall_seconds_per_tick": 1.0,
        "phase_seconds": {"read": 0.5, "decide": 0.5},
        "bare_decoding_seconds_per_tick": servings * 5e-4,
        "decoder": "orjson",
        "queries_per_tick": 10.0,
        "bytes_read_per_tick": 1e6,
        "wire_bytes_per_tick": 1e5,
        "api_calls_per_tick": 0.0,
        "writes_at_steady_state": 0,
        "first_decision_ticks": 1.5,
        "start_cpu_seconds": 4.0,
        "peak_concurrent_requests": 8,
        "throttled_requests": 0,
        "resident_bytes": 100_000_000 + servings * 20 * 10_000,
        "peak_bytes": 200_000_000,
        "reasons": {"BestProfileActive": servings},
    }
    return Measured(**{**given, **changes})


def call(began: float, ended: float, **changes: Any) -> Call:
    given: dict[str, Any] = {
        "began": began,
        "ended": ended,
        "verb": "list",
        "resource": "pods",
        "key": ("", ""),
        "code": 200,
    }
    return Call(**{**given, **changes})


def event(stamp: str, done: str, **changes: Any) -> dict[str, Any]:
    return {
        "stage": "ResponseComplete",
        "verb": "patch",
        "user": {"username": USER},
        "objectRef": {
            "resource": "speculativeservings",
            "subresource": "status",
            "namespace": "team-1",
            "name": "llama-1",
        },
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": stamp,
        "stageTimestamp": done,
        **changes,
    }


def test_a_slope_is_that_of_the_line_of_least_squares() -> None:
    assert slope([1.0, 2.0, 3.0], [5.0, 7.0, 9.0]) == pytest.approx(2.0)
    assert slope([0.0, 1.0, 2.0], [0.0, 0.0, 3.0]) == pytest.approx(1.5)
    with pytest.raises(ValueError, match="two different x"):
        slope([1.0, 1.0], [1.0, 2.0])


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_the_exponent_is_that_of_the_power_that_it_grows_with(exponent: float) -> None:
    x = [100.0, 200.0, 500.0, 1000.0]
    assert growth_exponent(x, [7.0 * each**exponent for each in x]) == pytest.approx(exponent)


def test_the_document_tells_the_largest_size_and_the_growth_in_finite_numbers() -> None:
    told = document([size(100), size(1000)], {"cores": 2})
    assert told.keys() > KEYS | {"sizes", "cores"}
    assert all(math.isfinite(told[key]) for key in KEYS)
    assert told["servings"] == 1000
    assert told["cpu_seconds_per_tick"] == pytest.approx(1.0)
    assert told["ratio_to_bare_decoding"] == pytest.approx(2.0)
    assert told["growth_exponent"] == pytest.approx(1.0)
    assert told["bytes_per_replica"] == pytest.approx(10_000.0)
    json.dumps(told, allow_nan=False)


def test_the_table_tells_for_each_goal_whether_it_is_met_and_by_how_much_not() -> None:
    good = document([size(100), size(1000)], {})
    assert [row[3] for row in goals(good)] == ["met"] * 7
    slow = size(1000, cpu_seconds_per_tick=4.0, writes_at_steady_state=3, queries_per_tick=100.0)
    verdicts = {row[0]: row[3] for row in goals(document([size(100), slow], {}))}
    assert verdicts["CPU per tick, s"] == "not met: 4.0 × the goal"
    assert verdicts["÷ bare decoding of the same answers"] == "not met: 2.7 × the goal"
    assert verdicts["growth exponent"].startswith("not met")
    assert verdicts["queries per tick"].startswith("not met")
    assert verdicts["writes at rest, the Lease aside"] == "not met"
    assert verdicts["memory per replica, kB"] == "met"


def test_every_row_of_the_table_has_as_many_cells_as_its_head() -> None:
    text = table(document([size(100), size(1000)], {}))
    for block in text.split("\n\n"):
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_sizes_are_parts_of_the_largest() -> None:
    assert default_sizes(1000) == (100, 200, 500, 1000)
    assert default_sizes(10) == (1, 2, 5, 10)
    assert default_sizes(4) == (2, 4)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("--sizes 10", "two different numbers"),
        ("--sizes 0,10", "at least 1"),
        ("--ticks 7", "every 5 ticks"),
        ("--live --scraped 10", "leave --scraped out"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_brought_up(
    given: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(given.split())
    assert told in capsys.readouterr().err


def test_what_is_measured_is_written_as_soon_as_it_tells_a_growth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "scale.json"

    def cut_short(*_: object) -> Iterator[Measured]:
        yield size(100)
        assert not written.exists()
        yield size(200)
        raise ClusterError("out of memory")

    monkeypatch.setattr("benchmarks.scale.measure", cut_short)
    assert main(["--json", str(written), "--plot", str(tmp_path / "scale.svg")]) == 1
    assert capsys.readouterr().err == "out of memory\n"
    assert [each["servings"] for each in json.loads(written.read_text())["sizes"]] == [100, 200]
    assert "decoding its answers alone" in (tmp_path / "scale.svg").read_text()


def test_calls_that_only_touch_were_not_under_way_together() -> None:
    assert most_at_once([]) == 0
    assert most_at_once([call(0.0, 1.0), call(1.0, 2.0)]) == 1
    assert most_at_once([call(0.0, 3.0), call(1.0, 2.0), call(1.5, 4.0), call(3.5, 5.0)]) == 3


def test_only_answered_calls_of_the_user_that_are_no_watches_count() -> None:
    stamps = ("2026-01-01T00:00:01.000000Z", "2026-01-01T00:00:01.250000Z")
    found = calls_in(
        [
            event(*stamps),
            event(*stamps, user={"username": "admin"}),
            event(*stamps, stage="ResponseStarted"),
            event(*stamps, verb="watch"),
        ],
        USER,
    )
    assert [each.resource for each in found] == ["speculativeservings/status"]
    assert found[0].ended - found[0].began == pytest.approx(0.25)
    assert found[0].writes
    assert not found[0].on_lease


def test_the_first_status_of_a_serving_is_the_first_that_was_taken() -> None:
    status = {"verb": "patch", "resource": "speculativeservings/status", "key": ("a", "b")}
    calls = [
        call(5.0, 6.0, **status),
        call(1.0, 2.0, **{**status, "code": 429}),
        call(2.0, 3.0, **status),
        call(0.0, 1.0, verb="get", resource="speculativeservings/status", key=("a", "b")),
        call(0.0, 1.0, verb="patch", resource="deployments", key=("a", "b")),
    ]
    assert first_statuses(calls, "speculativeservings") == {("a", "b"): 3.0}
    assert throttled(calls) == 1


def test_the_lease_and_what_was_before_and_after_is_left_out_of_a_tick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchmarks.scale.bare_decoding", lambda *_: ("orjson", 1.0))
    ticks = Ticks(
        number=5,
        began=100.0,
        ended=175.0,
        cpu_seconds=2.0,
        phase_seconds={"read": 0.3, "decide": 0.2},
        asked=Asked(queries=Counter({"up": 50}), plain_bytes=500, wire_bytes=50),
        usage=Usage(cpu_seconds=9.0, resident_bytes=1, peak_bytes=2),
    )
    status = {"verb": "patch", "resource": "speculativeservings/status"}
    calls = [
        call(99.0, 101.0, **status),
        call(120.0, 121.0, **status),
        call(130.0, 131.0),
        call(140.0, 141.0, verb="update", resource="leases"),
        call(175.0, 176.0, **status),
    ]
    settings = Settings(sizes=(1, 2), replicas=1, tick_seconds=15.0, scraped=2)
    found = measured(
        settings, 2, Start(seconds=30.0, cpu_seconds=3.0), ticks, calls, {"up": b"[1]"}
    )
    assert found.cpu_seconds_per_tick == pytest.approx(0.4)
    assert found.bare_decoding_seconds_per_tick == pytest.approx(0.2)
    assert found.ratio_to_bare_decoding == pytest.approx(2.0)
    assert found.queries_per_tick == pytest.approx(10.0)
    assert found.api_calls_per_tick == pytest.approx(2 / 5)
    assert found.writes_at_steady_state == 1
    assert found.wall_seconds_per_tick == pytest.approx(0.5)
    assert found.first_decision_ticks == pytest.approx(2.0)
    assert found.bytes_read_per_tick == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("began", "window", "settled"),
    [(610.0, 60.0, 930.0), (890.0, 60.0, 1010.0), (890.0, 0.0, 930.0)],
)
def test_a_start_has_taught_all_after_two_windows_and_the_first_slot(
    began: float, window: float, settled: float
) -> None:
    assert settled_at(began, window, 15.0) == settled


def test_time_by_phase_is_read_out_of_the_operators_own_metrics() -> None:
    metrics = OperatorMetrics()
    for _ in range(2):
        with metrics.time.phase(Phase.DECIDE):
            pass
        metrics.time.tick_ended()
    seconds, ticks = spent_in(generate_latest(metrics.registry).decode())
    assert ticks == 2.0
    assert seconds.keys() == {phase.value for phase in Phase}
    assert seconds["decide"] > 0.0 == seconds["read"]


def test_bare_decoding_counts_an_answer_as_often_as_it_was_asked_for() -> None:
    moments = itertools.count()
    bodies = {"a": b"[1]", "b": b"[2]", "c": b"never asked for, and no JSON"}
    asked = Asked(queries=Counter({"a": 3, "b": 4}))
    _, seconds = bare_decoding(bodies, asked, clock=lambda: float(next(moments)))
    assert seconds == pytest.approx(7.0)


def test_an_answer_is_moved_on_to_another_time_and_is_otherwise_the_same() -> None:
    def body(stamp: str) -> bytes:
        series = ",".join(
            f'{{"metric":{{"pod":"p{n}"}},"value":[{stamp},"{n}.5"]}}' for n in range(3)
        )
        text = f'{{"status":"success","data":{{"resultType":"vector","result":[{series}]}}}}'
        return text.encode()

    assert moved_on(body("1764517166.123"), 1764517181.5) == body("1764517181.5")
    empty = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
    assert moved_on(empty, 5.0) == empty


def test_recorded_answers_are_given_and_counted_and_the_past_is_empty() -> None:
    result = b'[{"metric":{},"value":[1,"2"]}]'
    body = b'{"status":"success","data":{"resultType":"vector","result":' + result + b"}}"
    with Answers("http://127.0.0.1:1", {"up": body}) as answers:
        answered = _post(f"{answers.url}/api/v1/query", "query=up&time=77.000")
        past = _post(f"{answers.url}/api/v1/query_range", "query=up&start=1&end=2&step=1")
        assert answers.times_asked("up") == 1
        asked = answers.count_anew()
        assert answers.count_anew().queries == {}
    assert parse_answer(answered, max_series=10).labels
    assert b'"value":[77' in answered
    assert json.loads(past)["data"]["result"] == []
    assert asked.queries == {"up": 1}
    assert asked.plain_bytes == len(answered)


def test_a_larger_fleet_is_answered_for_with_namesakes_of_those_that_are_scraped() -> None:
    few = fleet.members(0, 40, 2)
    series = [
        {"metric": {"engine": "0", "namespace": each.namespace, "pod": pod}, "value": [1, pod[-1]]}
        for each in few
        for pod in each.pods
    ]
    told = {"status": "success", "data": {"resultType": "vector", "result": series}}
    body = json.dumps(told, separators=(",", ":")).encode()
    rename = partial(fleet.namesakes, scraped=40, servings=95)
    result = json.loads(repeated(body, rename))["data"]["result"]
    found = [(each["metric"]["namespace"], each["metric"]["pod"]) for each in result]
    everybody = fleet.members(0, 95, 2)
    assert sorted(found) == sorted((each.namespace, pod) for each in everybody for pod in each.pods)
    assert all(each["value"] == [1, each["metric"]["pod"][-1]] for each in result)
    assert repeated(body, partial(fleet.namesakes, scraped=40, servings=40)) == body


def test_prometheus_holds_the_sizes_up_to_what_it_scrapes() -> None:
    settings = Settings(sizes=(50, 100, 1000), replicas=20, scraped=100)
    assert settings.shelves == (50, 100)
    assert matcher_of(1000, settings.shelves).value == "50|100"


def _post(url: str, form: str) -> bytes:
    with urllib.request.urlopen(url, data=form.encode(), timeout=10) as answer:
        return bytes(answer.read())


def test_a_replica_has_about_sixty_series_and_every_metric_that_a_query_reads() -> None:
    kinds = lines()
    assert 55 <= len(kinds) <= 65
    assert len({(each.name, each.labels) for each in kinds}) == len(kinds)
    names = {each.name for each in kinds}
    queries = queries_of(1, (1,), 120)
    for name in set(REGISTRY) - {"gpu_tensor_active", "gpu_dram_active"}:
        assert any(each in queries[name] for each in names), name


def test_counters_of_a_page_grow_and_gauges_do_not() -> None:
    page = Page(fleet.members(0, 2, 2), (1, 2))
    early, late = page.render(100.0).decode(), page.render(115.0).decode()
    assert early.count("\n") == 4 * len(lines())

    def value(text: str, name: str) -> float:
        return float(next(line for line in text.splitlines() if line.startswith(name)).split()[-1])

    assert value(late, "vllm:generation_tokens_total") > value(
        early, "vllm:generation_tokens_total"
    )
    assert value(late, "vllm:num_requests_running") == value(early, "vllm:num_requests_running")
    assert 'pod="llama-0-7c9f8d6b5-' in early
    assert 'shelf="1"' in early
    assert 'shelf="2"' in early


def test_a_fleet_of_each_size_is_chosen_by_the_shelves_up_to_it() -> None:
    shelves = (100, 200, 500)
    assert [shelf_of(number, shelves) for number in (0, 99, 100, 199, 200, 499)] == [
        *(100, 100, 200, 200, 500, 500),
    ]
    assert matcher_of(200, shelves).value == "100|200"
    assert 'shelf=~"100|200"' in queries_of(200, shelves, 120)[FAST[0]]


def stored(body: dict[str, Any]) -> dict[str, Any]:
    """As the API server answers an object that it has stored."""
    told = {"uid": "u", "resourceVersion": "1", "creationTimestamp": fleet.SINCE}
    return {**body, "metadata": {**body["metadata"], **told}}


def models(replicas: int) -> Models:
    first = fleet.members(0, 1, replicas)[0]
    return Models(
        node=stored({**fleet.node(0), **fleet.node_status()}),
        deployment=stored({**fleet.deployment(first), **fleet.deployment_status(first, 1)}),
        pod=stored({**fleet.pod(first), **fleet.pod_status(first)}),
        serving=stored(fleet.serving(first)),
    )


def test_copies_beside_the_models_make_the_whole_fleet() -> None:
    keys = [key for key, _ in copies(models(20), fleet.members(0, 12, 20), range(30))]
    assert len(set(keys)) == len(keys) == (30 - 1) + (12 - 1) * 2 + (12 * 20 - 1)
    assert "/registry/minions/gpu-29" in keys
    assert "/registry/deployments/team-11/llama-11" in keys
    assert "/registry/ridgeline.dev/speculativeservings/team-11/llama-11" in keys
    assert not any(key.endswith(("/gpu-0", "/team-0/llama-0")) for key in keys)


def test_a_copy_is_what_its_own_member_would_have_made() -> None:
    member = fleet.members(11, 12, 20)[0]
    found = dict(copies(models(20), [member], range(27, 30)))
    bodies = {key: {**body, "metadata": dict(body["metadata"])} for key, body in found.items()}
    for body in bodies.values():
        uid = body["metadata"].pop("uid")
        assert uid != "u"
        assert "resourceVersion" not in body["metadata"]
        assert body["metadata"].pop("creationTimestamp") == fleet.SINCE
    assert bodies["/registry/deployments/team-11/llama-11"] == {
        **fleet.deployment(member),
        **fleet.deployment_status(member, 1),
    }
    serving = bodies["/registry/ridgeline.dev/speculativeservings/team-11/llama-11"]
    assert serving == fleet.serving(member)
    first = bodies[f"/registry/pods/team-11/{member.pods[0]}"]
    assert first == {**fleet.pod(member), **fleet.pod_status(member)}
    assert len({body["metadata"]["uid"] for body in found.values()}) == len(found)


def test_pods_of_the_fleet_are_pods_of_their_deployment_and_fill_nodes() -> None:
    member = fleet.members(3, 4, 20)[0]
    found = dict(copies(models(20), [member], range(0)))
    body = found[f"/registry/pods/team-3/{member.pods[5]}"]
    body["metadata"]["resourceVersion"] = "7"
    trimmed = trim_pod(body)
    assert trimmed is not None
    assert trimmed.name == member.pods[5]
    assert trimmed.deployment == member.name == "llama-3"
    assert trimmed.profile == "eagle"
    assert trimmed.ready_since is not None
    assert trimmed.node == fleet.node_name(65 // 8)
    assert trimmed.address == "10.0.0.65"
    assert fleet.nodes_for(1000, 20) == 2500
