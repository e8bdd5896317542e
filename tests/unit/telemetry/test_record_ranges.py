"""Range queries in pieces: no answer above the limits, every time once, errors that help."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.telemetry.endpoint import BearerToken, Endpoint
from ridgeline.telemetry.errors import (
    BadQueryError,
    MalformedError,
    TelemetryError,
    TooLargeError,
    UnavailableError,
)
from ridgeline.telemetry.history import (
    LoadPoint,
    LoadQueries,
    load_of,
    long_queries,
    of_target,
    recent_queries,
    summed,
)
from ridgeline.telemetry.history_ranges import (
    MAX_POINTS,
    MAX_SAMPLES,
    Grid,
    Pieces,
    RangeDownload,
    RangeSeries,
    matrix,
)
from ridgeline.telemetry.record import RecordError
from ridgeline.telemetry.record_past import PastPlan, past_ticks

QUERIES = LoadQueries(tokens="t", concurrency="c", engines="e")
LABELS = ("namespace", "pod")


class Store:
    """Answers any range with series of one value, and refuses what has too many samples."""

    def __init__(self, series: int, *, most: int = MAX_SAMPLES, text: str = "2") -> None:
        self.series, self.most, self.text = series, most, text
        self.asked: list[tuple[str, Grid]] = []

    def fetch(self, promql: str, grid: Grid) -> list[RangeSeries]:
        self.asked.append((promql, grid))
        if self.series * grid.count > self.most:
            raise TooLargeError("too many samples; ask for less time")
        times = range(grid.start, grid.end + 1, grid.step)
        return [
            RangeSeries(
                labels={"namespace": "a", "pod": f"p{n}", "engine": "0"},
                # Two servers under one name are told apart by when they were made: these are one.
                points=[(float(at), "0" if "_created" in promql else self.text) for at in times],
            )
            for n in range(self.series)
        ]


@given(st.integers(1, 40_000), st.integers(1, 400), st.integers(1, 3600), st.integers(1, 500_000))
@settings(deadline=None, max_examples=50)
def test_pieces_cover_every_time_once_and_stay_below_the_limits(
    count: int, series: int, step: int, most: int
) -> None:
    grid = Grid(start=900, end=900 + (count - 1) * step, step=step)
    pieces, done, answers = Pieces(), 0, 0
    times: list[int] = []
    while done < grid.count:
        piece = grid.piece(done, pieces.points)
        assert piece.count <= MAX_POINTS
        if piece.count * series > most and piece.count > 1:
            pieces.refused(TooLargeError("too large"))
            continue
        times += range(piece.start, piece.end + 1, step)
        done += piece.count
        pieces.answered(series)
        answers += 1
        if answers > 1:
            assert piece.count * series <= max(MAX_SAMPLES, series)
    assert times == list(range(grid.start, grid.end + 1, step))


@pytest.mark.parametrize("fields", [(10, 9, 1), (0, 10, 0), (0, 10, -5)])
def test_a_grid_without_a_time_is_refused(fields: tuple[int, int, int]) -> None:
    start, end, step = fields
    with pytest.raises(ValueError, match=r"step|lies before"):
        Grid(start=start, end=end, step=step)


def test_a_refusal_for_size_leads_to_smaller_pieces_not_to_less() -> None:
    store = Store(50, most=700)
    grid = Grid(start=0, end=15 * 99, step=15)
    loads = load_of(store, QUERIES, grid, LABELS)
    assert len(loads) == 50
    assert all(len(points) == 100 for points in loads.values())
    assert max(asked.count for _, asked in store.asked[3:]) <= 30


def test_one_time_that_is_too_large_alone_is_an_error() -> None:
    with pytest.raises(TooLargeError):
        load_of(Store(50, most=10), QUERIES, Grid(start=0, end=60, step=15), LABELS)


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-1"])
def test_only_numbers_that_can_be_become_points(text: str) -> None:
    assert load_of(Store(1, text=text), QUERIES, Grid(start=0, end=60, step=15), LABELS) == {}


def point(at: float, load: float = 1.0) -> LoadPoint:
    return LoadPoint(at=at, tokens_per_second=load, concurrency=load / 10, engines=1)


def test_loads_are_summed_time_by_time() -> None:
    total = summed([(point(0), point(15)), (point(15, 5.0), point(30))])
    assert [(each.at, each.tokens_per_second, each.engines) for each in total] == [
        (0, 1.0, 1),
        (15, 6.0, 2),
        (30, 1.0, 1),
    ]


def test_a_target_has_its_workload_and_its_pods_alone() -> None:
    loads = {
        ("a", "llama"): (point(0),),
        ("a", "llama-7c9f8d6b5-x2z4q"): (point(0, 2.0),),
        ("a", "llama-70b"): (point(0, 100.0),),
        ("b", "llama"): (point(0, 1000.0),),
    }
    (total,) = of_target(loads, "a", "llama")
    assert total.tokens_per_second == 3.0


def test_history_queries_keep_the_matchers_and_name_the_labels() -> None:
    endpoint = Endpoint(name="e", url="http://p", namespace_label="ns", pod_label="po")
    for queries in (recent_queries(endpoint, 120.0), long_queries(endpoint)):
        for promql in (queries.tokens, queries.concurrency, queries.engines):
            assert "by (ns, " in promql
            assert "$by" not in promql
    assert "[120s]" in recent_queries(endpoint, 120.0).tokens
    assert "[300s]" in long_queries(endpoint).tokens
    assert '"$1", "po"' in long_queries(endpoint).tokens


@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        [{}],
        [{"metric": {}, "values": [[1, 2]]}],
        [{"metric": {}, "values": [["x", "2"]]}],
    ],
)
def test_what_is_no_matrix_is_told(result: object) -> None:
    with pytest.raises(MalformedError):
        matrix(result, max_series=10)


def test_more_series_than_allowed_are_refused() -> None:
    result = [{"metric": {"pod": str(n)}, "values": [[1, "2"]]} for n in range(3)]
    assert len(matrix(result, max_series=3)) == 3
    with pytest.raises(TooLargeError, match="3 series, more than 2"):
        matrix(result, max_series=2)


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (422, b'{"error":"query processing would load too many samples"}', TooLargeError, "less"),
        (400, b'{"error":"exceeded maximum resolution of 11,000 points"}', TooLargeError, "less"),
        (400, b'{"error":"parse error: \\"x\\" it\'s"}', BadQueryError, 'parse error: "x" it\'s'),
        (401, b"", UnavailableError, "check the credentials"),
        (500, SECRET.encode(), UnavailableError, r"\[redacted\]"),
        (503, b"busy", TooLargeError, "busy"),
        (200, b"<html>", UnavailableError, "does not answer as Prometheus does; check the address"),
        (200, b"{}", UnavailableError, "does not answer as Prometheus does; check the address"),
        (200, b'{"data":{"result":[{}]}}', MalformedError, "labels and values"),
    ],
)
def test_every_answer_is_a_matrix_or_one_typed_error(
    tmp_path: Path, status: int, body: bytes, kind: type[TelemetryError], said: str
) -> None:
    token = tmp_path / "token"
    token.write_text(SECRET)
    with answering(status, body) as url:
        endpoint = Endpoint(name="e", url=url, auth=BearerToken(token_file=token))
        with pytest.raises(kind, match=said) as error:
            RangeDownload(endpoint).fetch("up", Grid(start=0, end=60, step=15))
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:1", "connection refused"),
        ("http://no-such-host.invalid:9090", "no host of that name is known"),
    ],
)
def test_a_server_that_is_not_reached_is_told_in_words(url: str, why: str) -> None:
    with pytest.raises(UnavailableError) as error:
        RangeDownload(Endpoint(name="e", url=url)).fetch("up", Grid(start=0, end=60, step=15))
    assert str(error.value).startswith(f"cannot reach {url}: {why}; check the address")


def test_a_server_that_speaks_no_tls_is_told_in_words() -> None:
    with answering(200, b"{}") as url:
        endpoint = Endpoint(name="e", url=url.replace("http://", "https://"))
        with pytest.raises(UnavailableError, match="no TLS connection can be made"):
            RangeDownload(endpoint).fetch("up", Grid(start=0, end=60, step=15))


class Refusing(Store):
    """Refuses the queries that hold a text."""

    def __init__(self, text: str, error: TelemetryError) -> None:
        super().__init__(1)
        self.holds, self.error = text, error

    def fetch(self, promql: str, grid: Grid) -> list[RangeSeries]:
        if self.holds in promql:
            raise self.error
        return super().fetch(promql, grid)


PLAN = PastPlan(
    endpoint=Endpoint(name="e", url="http://p"),
    namespace="a",
    target=None,
    pods=".+",
    grid=Grid(start=0, end=60, step=15),
    window_seconds=60.0,
)


def test_a_slow_query_that_is_refused_costs_its_own_signal() -> None:
    refused = BadQueryError("query refused: no such function", status=400)
    ticks = list(past_ticks(PLAN, Refusing("num_requests_running", refused), lambda a, b: None))
    assert len(ticks) == 5
    (engine,) = ticks[0].facts.replicas[0].engines
    assert engine.running is None
    assert engine.waiting == 2.0
    assert engine.decode_concurrency == 2.0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("generation_tokens_total", BadQueryError("query refused: no", status=400)),
        ("num_requests_running", UnavailableError("HTTP 401: check the credentials", status=401)),
    ],
)
def test_what_a_record_cannot_do_without_ends_it(text: str, error: TelemetryError) -> None:
    with pytest.raises(RecordError, match=str(error)):
        list(past_ticks(PLAN, Refusing(text, error), lambda a, b: None))


def test_an_endpoint_that_is_not_reached_is_no_trouble_of_a_query() -> None:
    error = UnavailableError("cannot reach http://p: connection refused")
    with pytest.raises(RecordError, match=r"^cannot reach http://p: connection refused$"):
        list(past_ticks(PLAN, Refusing("num_requests_running", error), lambda a, b: None))


def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    list(past_ticks(PLAN, Store(1), lambda done, count: told.append((done, count))))
    assert told[-1] == (5, 5)


def test_the_endpoint_is_narrowed_to_the_wanted_pods() -> None:
    store = Store(1)
    list(past_ticks(PLAN, store, lambda a, b: None))
    asked = [promql for promql, _ in store.asked if "vllm:" in promql]
    assert len(asked) > 10
    for promql in asked:
        assert 'namespace="a"' in promql
        assert 'pod=~".+"' in promql
