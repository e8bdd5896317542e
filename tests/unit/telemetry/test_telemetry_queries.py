"""The registry of queries: templates, escaping, and the page that documents them."""

import re
from dataclasses import fields
from pathlib import Path
from string import Template

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.policy.facts import EngineFacts
from ridgeline.telemetry import document
from ridgeline.telemetry.endpoint import Endpoint, Matcher
from ridgeline.telemetry.queries import FAST, REGISTRY, SLOW, NamedQuery, query_context, quote
from ridgeline.telemetry.signals import SIGNALS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "telemetry.md"
queries = pytest.mark.parametrize("query", REGISTRY.values(), ids=REGISTRY)


def context_of(window_seconds: float = 120.0, **fields: object):  # type: ignore[no-untyped-def]
    endpoint = Endpoint(**({"name": "x", "url": "http://x"} | fields))  # type: ignore[arg-type]
    return query_context(endpoint, window_seconds)


@queries
def test_every_query_declares_what_it_uses(query: NamedQuery) -> None:
    assert set(Template(query.template).get_identifiers()) == set(query.parameters)


@queries
def test_every_query_says_what_it_is_and_why(query: NamedQuery) -> None:
    assert query.unit
    assert query.description.endswith(".")
    for text in (query.why, query.trap, query.fallback):
        assert text.endswith(".")


@queries
def test_every_selector_carries_the_matchers(query: NamedQuery) -> None:
    promql = query.render(context_of(matchers=(Matcher(label="cluster", value="a"),)))
    selectors = re.findall(r"(?:vllm:|DCGM_)\w+(\{.*?\})?", promql)
    assert selectors
    assert all(re.fullmatch(r'\{(\w+!?="[\w+]*", )?cluster="a"\}', each) for each in selectors)


@queries
def test_no_query_asks_for_one_serving(query: NamedQuery) -> None:
    """The labels only group; nothing selects a namespace or a Pod."""
    promql = query.render(context_of(namespace_label="ns", pod_label="who"))
    assert "by (ns, who, engine" in promql or ("by (ns, who)" in promql and not query.labels)
    matched = set(re.findall(r"\{(.*?)\}", promql))
    assert matched <= {
        "",
        'reason="capacity"',
        'source="local_compute"',
        'exported_pod=""',
        'exported_pod!=""',
        'le!="+Inf"',
    }


def test_the_five_fast_queries() -> None:
    assert len(FAST) == 5
    assert set(FAST).isdisjoint(SLOW)
    assert tuple(REGISTRY) == FAST + SLOW


def test_windows_of_parts_of_a_second_are_written_in_milliseconds() -> None:
    assert context_of(120.0).window == "120s"
    assert context_of(2.5).window == "2500ms"
    assert context_of(10.0).age_step == "1250ms"


@pytest.mark.parametrize("window", [0.0, 0.5, -1.0, float("nan"), float("inf")])
def test_windows_that_make_no_rate_are_refused(window: float) -> None:
    with pytest.raises(ValueError, match="window_seconds"):
        context_of(window)


def test_matchers_are_joined_and_escaped() -> None:
    matchers = (
        Matcher(label="cluster", value='a"} or vector(1) #'),
        Matcher(label="job", value=r"vllm\d", operator="=~"),
        Matcher(label="note", value="two\nlines", operator="!="),
    )
    assert context_of(matchers=matchers).matchers == (
        r'cluster="a\"} or vector(1) #", job=~"vllm\\d", note!="two\nlines"'
    )


@settings(deadline=None)
@given(st.text())
def test_a_quoted_text_is_one_literal_on_one_line(text: str) -> None:
    literal = quote(text)
    assert re.fullmatch(r'"(?:[^"\\\n\r]|\\.)*"', literal)
    unescaped = re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), literal[1:-1])
    assert unescaped == text


def test_the_page_is_in_step() -> None:
    assert document.main(["--check", str(PAGE)]) == 0


def test_a_page_that_is_out_of_step_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "telemetry.md"
    assert document.main(["--check", str(page)]) == 1
    assert document.main([str(page)]) == 0
    assert document.main(["--check", str(page)]) == 0
    page.write_text(page.read_text().replace("120s", "60s"))
    assert document.main(["--check", str(page)]) == 1
    assert "not in step" in capsys.readouterr().err
    assert document.main([]) == 2


@queries
def test_the_page_has_every_query(query: NamedQuery) -> None:
    assert f"## {query.name}\n" in document.page()
    assert query.render(context_of()) in document.page()


NOT_OF_ENGINES = {"gpu_tensor_active", "gpu_dram_active"}


def test_the_page_tells_every_signal_and_what_every_query_is_for() -> None:
    numbers = {each.name for each in fields(EngineFacts)} - {"engine", "not_finite"}
    assert {signal.name for signal in SIGNALS} == numbers
    assert {name for signal in SIGNALS for name in signal.made_of} == set(REGISTRY) - NOT_OF_ENGINES
    for signal in SIGNALS:
        assert set(re.findall(r"`(\w+)`", signal.formula)) <= set(signal.made_of)
        assert f"| `{signal.name}` | {signal.unit} |" in document.page()
