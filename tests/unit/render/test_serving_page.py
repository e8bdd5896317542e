"""A serving's status as a page: cut-offs with their bands, and what was learned."""

from typing import Any

from rich.console import Console

from ridgeline.render.serving import serving_page

PREDICTED: dict[str, Any] = {
    "profile": "eagle",
    "upToConcurrency": 93,
    "returnBelowConcurrency": 71,
    "bandLow": 71,
    "bandHigh": 131,
}


def lines(**status: Any) -> list[str]:
    console = Console(width=200)
    with console.capture() as caught:
        console.print(serving_page("team/llama", {"activeProfile": "none", **status}, ()))
    return [" ".join(line.split()) for line in caught.get().splitlines()]


def test_a_predicted_cut_off_stands_with_its_band() -> None:
    page = lines(cutoffTable=[PREDICTED, {"profile": "none"}])
    assert "profile up to back below predicted within" in page
    assert "eagle 93 71 71 to 131" in page
    assert "none and above" in page


def test_a_band_without_an_upper_edge_has_a_lower_one() -> None:
    flat = {key: value for key, value in PREDICTED.items() if key != "bandHigh"}
    assert "eagle 93 71 from 71" in lines(cutoffTable=[flat, {"profile": "none"}])


def test_a_cut_off_that_a_person_wrote_has_no_band() -> None:
    written = {"profile": "eagle", "upToConcurrency": 20, "returnBelowConcurrency": 14}
    assert "eagle 20 14" in lines(cutoffTable=[written, {"profile": "none"}])


def test_where_the_law_acts_stands_beside_the_cut_off() -> None:
    page = lines(cutoffTable=[{**PREDICTED, "actAtConcurrency": 58}, {"profile": "none"}])
    assert "profile up to back below acts at predicted within" in page
    assert "eagle 93 71 58 71 to 131" in page
    assert "none and above" in page


def test_what_was_learned_is_told_by_profile_with_what_it_holds_for() -> None:
    page = lines(
        learned={
            "basis": "m at BF16 on 1 x h100-sxm, vLLM 0.32.0",
            "time": "2026-11-28T10:00:00Z",
            "contextTokens": 812,
            "prefillPercent": 150,
            "profiles": [
                {
                    "profile": "eagle",
                    "acceptancePercent": [71, 48],
                    "draftedPercent": 99,
                    "stepTimePercent": 108,
                    "windows": 12,
                },
                {"profile": "none", "stepTimePercent": 100, "windows": 0},
            ],
        }
    )
    assert "Learned from telemetry (m at BF16 on 1 x h100-sxm, vLLM 0.32.0)" in page
    assert "context of 812 tokens, 150 prompt tokens per 100 answered" in page
    assert "eagle 71 %, 48 % 99 % 108 % of predicted 12" in page
    assert "none not seen 0" in page


def test_before_anything_was_learned_nothing_is_said_of_it() -> None:
    assert not any("Learned" in line for line in lines())
    bare = lines(learned={"basis": "m", "time": "2026-11-28T10:00:00Z"})
    assert "context not known" in bare
