"""The pictures of the cost model: what they show holds, and the page shows them as they are."""

import re
import statistics
from itertools import pairwise
from pathlib import Path

import pytest

from ridgeline.render.plots import svg
from ridgeline.terms.precision import Precision
from tests.tools.picture_check import alike
from tests.tools.picture_facts import (
    LLAMA_8B,
    QWEN_8B,
    STEP_MILLISECONDS,
    fixture_model,
    head_of,
    target_of,
)
from tests.tools.pictures import (
    CHARTS,
    FOLDER,
    borders,
    context_chart,
    goodput_chart,
    knee_cases,
    main,
    qwen_draft,
    speedup_chart,
    step_chart,
)

PAGE = (FOLDER.parent / "concepts" / "cost-model.md").read_text(encoding="utf-8")
MOST_BYTES = 60_000


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    assert main([str(folder)]) == 0
    return folder


def alt_text(name: str) -> str:
    found = re.search(rf"!\[([^\]]*)\]\(\.\./images/{re.escape(name)}\)", PAGE)
    assert found is not None, f"the page does not show {name}"
    return found[1]


@pytest.mark.parametrize("name", CHARTS)
def test_the_page_shows_each_picture_and_says_in_words_what_is_on_it(name: str) -> None:
    assert len(alt_text(name)) > 80


@pytest.mark.parametrize("name", CHARTS)
def test_the_committed_picture_is_small_and_what_the_code_draws_now(name: str, drawn: Path) -> None:
    """Compared by shape and within a tenth of a point: the last digits are the machine's."""
    committed = (FOLDER / name).read_text(encoding="utf-8")
    now = (drawn / name).read_text(encoding="utf-8")
    assert len(committed.encode()) < MOST_BYTES
    assert alike(committed, now), f"{name} is out of date: python -m tests.tools.pictures"


@pytest.mark.parametrize("name", CHARTS)
def test_a_picture_is_drawn_alike_each_time(name: str, drawn: Path) -> None:
    assert svg(CHARTS[name]()) == (drawn / name).read_text(encoding="utf-8")


def test_a100_stops_at_about_half_of_h100() -> None:
    h100, a100 = (mark.x or 0.0 for mark in speedup_chart().marks)
    assert 0.45 < a100 / h100 < 0.6
    assert f"cut-off {h100:.0f}" in alt_text("cost-model-speedup.svg")
    assert f"cut-off {a100:.0f}" in alt_text("cost-model-speedup.svg")


def test_with_context_the_cut_off_of_a_head_rises_and_that_of_a_draft_model_falls() -> None:
    contexts = (250.0, 500.0, 750.0)
    heads = [each.cutoff or 0.0 for each in borders(head_of(QWEN_8B), contexts)]
    drafts = [each.cutoff or 0.0 for each in borders(qwen_draft(), (*contexts, 2000.0, 8000.0))]
    assert all(before < after for before, after in pairwise(heads))
    assert all(before > after for before, after in pairwise(drafts))
    (far,) = borders(head_of(QWEN_8B), (4000.0,))
    assert far.cutoff is None
    head, draft, _ = context_chart().series
    assert max(head.x) < 1200 < max(draft.x)


def test_the_knee_the_advice_and_break_even_lie_apart() -> None:
    knee = target_of("h100-sxm", LLAMA_8B).accelerator.knee_tokens(Precision.BF16)
    good, large, weak = (each.cutoff_tokens for each in knee_cases())
    assert 160 < weak < knee < large < good
    told = alt_text("cost-model-knee.svg")
    for each in (weak, knee, large, good):
        assert f"{each:.0f}" in told


def test_the_published_step_times_are_met_within_four_per_cent() -> None:
    errors = [
        abs(fixture_model(lookahead).seconds(batch) * 1e3 / published - 1.0)
        for lookahead, row in STEP_MILLISECONDS.items()
        for batch, published in row.items()
    ]
    assert len(errors) == 20
    assert statistics.fmean(errors) < 0.04


def test_the_parts_of_a_step_add_up() -> None:
    chart = step_chart()
    sums = [sum(column) for column in zip(*(each.y for each in chart.series), strict=True)]
    assert all(before < after for before, after in pairwise(sums))
    assert 7.0 < sums[0] < 10.0
    largest = max(chart.series, key=lambda each: each.y[-1])
    assert largest.name == "arithmetic beyond that"


def test_three_profiles_share_the_range_of_concurrency() -> None:
    first, second = goodput_chart().marks
    told = alt_text("cost-model-goodput.svg")
    assert first.high is not None
    assert second.high is None
    for each in (first.x, first.low, first.high, second.x, second.low):
        assert f"{each:.0f}" in told
