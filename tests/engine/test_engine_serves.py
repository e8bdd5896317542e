"""The real engine serves each profile as the operator renders it, and is cut over between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from ridgeline.engine.spelling import Spelling, words_of
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import REGISTRY, query_context
from tests.engine import outcome
from tests.engine.cases import CONTRACT, profiles
from tests.engine.environment import VERSION
from tests.engine.serving import NotReadyError, Server, served

pytestmark = pytest.mark.engine

PROFILES = {profile.name: (profile, target) for profile, target in profiles()}
GREEDY_TOKENS = 32
_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{.*\})? ([0-9.eE+-]+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a served profile showed.

    Attributes:
        config: The text that the operator renders for it.
        drafts: Drafts in the load.
        acceptance_length: Tokens per request-step, by counters that the operator reads.
        answers: Answers to a fixed set of prompts.
        names: Names of the series on its page.
        exit_code: Of the server, after SIGTERM.
    """

    config: str
    drafts: float
    acceptance_length: float
    answers: tuple[str, ...]
    names: frozenset[str]
    exit_code: int


def totals(page: str) -> dict[str, float]:
    """The sum of each series over its labels."""
    found: dict[str, float] = {}
    for name, value in _SAMPLE.findall(page):
        found[name] = found.get(name, 0.0) + float(value)
    return found


def words_for(name: str) -> tuple[str, ...]:
    """The arguments of a container that runs a profile."""
    return words_of(PROFILES[name][0], Spelling.EQUALS, CONTRACT)


_SEEN: dict[str, Seen | BaseException] = {}


def served_once(name: str, folder: Path) -> Seen:
    """Serve a profile under a small load, once in a run.

    Raises:
        BaseException: What ended it the first time.
    """
    if name not in _SEEN:
        try:
            _SEEN[name] = _serve(name, folder)
        except BaseException as error:
            _SEEN[name] = error
            raise
    seen = _SEEN[name]
    if isinstance(seen, BaseException):
        raise seen
    return seen


def _serve(name: str, folder: Path) -> Seen:
    words = words_for(name)
    with served(words, log=folder / f"{name}.log", target=PROFILES[name][1]) as server:
        assert VERSION in server.get("/version")
        before = totals(server.get("/metrics"))
        answers = server.load(requests=8, at_once=4, tokens=GREEDY_TOKENS)
        page = server.get("/metrics")
        after = totals(page)
    steps = _grown(before, after, "vllm:inter_token_latency_seconds_count")
    tokens = _grown(before, after, "vllm:generation_tokens_total")
    first = _grown(before, after, "vllm:time_to_first_token_seconds_count")
    seen = Seen(
        config=words[0].partition("=")[2] if words else "",
        drafts=_grown(before, after, "vllm:spec_decode_num_drafts_total"),
        acceptance_length=(tokens - first) / steps,
        answers=tuple(answers),
        names=frozenset(after),
        exit_code=server.exit_code if server.exit_code is not None else -1,
    )
    kept = {key: value for key, value in asdict(seen).items() if key not in ("names", "answers")}
    kept["acceptance_length"] = round(seen.acceptance_length, 2)
    outcome.served(name, kept | {"series": sum(each.startswith("vllm:") for each in seen.names)})
    return seen


def _grown(before: dict[str, float], after: dict[str, float], name: str) -> float:
    return after.get(name, 0.0) - before.get(name, 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.mark.parametrize("name", PROFILES)
def test_a_rendered_profile_is_served(name: str, folder: Path) -> None:
    profile = PROFILES[name][0]
    seen = served_once(name, folder)
    assert seen.exit_code == 0
    assert (seen.drafts > 0) is profile.method.speculates
    most = (profile.num_speculative_tokens or 0) + 1
    assert 1.0 <= round(seen.acceptance_length, 6) <= most
    if not profile.method.speculates:
        assert seen.acceptance_length == pytest.approx(1.0)
        assert not any(each.startswith("vllm:spec_decode") for each in seen.names)


def asked_names() -> Iterator[tuple[str, frozenset[str]]]:
    """Each query of the tick with the names that it asks for; one of them is enough."""
    context = query_context(Endpoint(name="x", url="http://x"), 120.0)
    for query in REGISTRY.values():
        names = frozenset(re.findall(r"\b(vllm:\w+)", query.render(context)))
        if names:
            yield query.name, names


@pytest.mark.parametrize(("query", "names"), list(asked_names()))
def test_what_telemetry_asks_for_is_exported(
    query: str, names: frozenset[str], folder: Path
) -> None:
    page = served_once("draft-k4", folder).names
    assert names & page, f"query {query} asks for {', '.join(sorted(names))}"
    without = served_once("none", folder).names
    if not any(name.startswith("vllm:spec_decode") for name in names):
        assert names & without


def test_speculation_does_not_change_greedy_answers(folder: Path) -> None:
    """Sums in another order may flip a near tie, so a few answers may differ, and no more."""
    plain = served_once("none", folder).answers
    for name in ("draft-k4", "draft-table", "eagle-k3", "eagle3-k3", "ngram-k4"):
        same = sum(a == b for a, b in zip(served_once(name, folder).answers, plain, strict=True))
        assert same >= len(plain) // 2, name


def test_some_drafts_of_a_good_drafter_are_accepted(folder: Path) -> None:
    assert served_once("draft-k4", folder).acceptance_length > 1.2


def test_a_cut_over_there_and_back(tmp_path: Path) -> None:
    """What a roll does to one Pod: without speculation, with it, and back."""
    steps = []
    for number, name in enumerate(("none", "ngram-k4", "none")):
        with served(words_for(name), log=tmp_path / f"{number}.log") as server:
            drafting = _drafts_of(server)
            steps.append({"profile": name, "series_of_speculation": drafting > 0})
            server.load(requests=4, at_once=2, tokens=16)
        assert server.exit_code == 0
    outcome.cut_over(steps)
    assert [step["series_of_speculation"] for step in steps] == [False, True, False]


def _drafts_of(server: Server) -> int:
    names = totals(server.get("/metrics"))
    return sum(each.startswith("vllm:spec_decode") for each in names)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("a table from 2", '{"method":"ngram","num_speculative_tokens":4,'
         '"num_speculative_tokens_per_batch_size":[[2,8,4]]}'),
    ],
)  # fmt: skip
def test_what_passes_the_config_and_is_refused_later_never_serves(
    name: str, config: str, tmp_path: Path
) -> None:
    with (
        pytest.raises(NotReadyError, match="exit code 1"),
        served((f"--speculative-config={config}",), log=tmp_path / "log"),
    ):
        pytest.fail(f"{name}: the server became ready")
