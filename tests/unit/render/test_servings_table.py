"""Many servings in one table: what stands in a row, and how old it is told to be."""

import io

import pytest
from rich.console import Console

from ridgeline.render.duration import ago, since
from ridgeline.render.servings import serving_document, servings_table

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


@pytest.mark.parametrize(
    ("moment", "told"),
    [
        ("2027-01-15T07:59:30Z", "30s"),
        ("2027-01-15T07:58:30Z", "90s"),
        ("2027-01-15T07:30:00Z", "30m"),
        ("2027-01-14T20:00:00Z", "12h"),
        ("2027-01-10T08:00:00Z", "5d"),
        ("2027-01-15T09:00:00Z", "0s"),
        ("soon", "-"),
        (None, "-"),
        (17, "-"),
    ],
)
def test_ages_are_told_as_kubectl_tells_them(moment: object, told: str) -> None:
    assert ago(moment, NOW) == told


def test_a_moment_without_a_zone_is_utc() -> None:
    assert since("2027-01-15T07:59:30", NOW) == 30.0


def test_what_is_not_known_of_a_serving_is_left_out_of_its_document() -> None:
    document = serving_document("team", "llama", {"targetRef": {"name": "t"}}, {})
    assert document == {
        "namespace": "team",
        "serving": "llama",
        "target": "t",
        "suspended": False,
        "switches": 0,
        "stalled": False,
        "rolling": False,
    }


def shown(*, wide: bool = False, **status: object) -> str:
    screen = io.StringIO()
    document = serving_document("team", "llama", {"mode": "Automatic"}, status)
    Console(file=screen, width=250).print(servings_table((document,), wide=wide, now=NOW))
    return screen.getvalue()


def test_a_row_tells_profile_cutoff_and_reason() -> None:
    text = shown(
        activeProfile="eagle",
        cutoffTable=[{"profile": "eagle", "upToConcurrency": 24, "actAtConcurrency": 19}],
        lastDecision={"reason": "InsideBand", "time": "2027-01-15T07:30:00Z", "message": "stay"},
    )
    for told in ("team", "llama", "eagle", "24", "19", "InsideBand", "30m"):
        assert told in text
    assert "stay" not in text


def test_a_wide_row_tells_why() -> None:
    assert "stay put" in shown(wide=True, lastDecision={"message": "stay put"})


def test_text_from_a_cluster_is_no_markup() -> None:
    assert "[red]x[/red]" in shown(activeProfile="[red]x[/red]")
