"""The step-time model and where its defaults put the cut-off."""

import pytest

from ridgeline.sim.stand_in.step_time import StepTimeModel

LENGTH = 1 + 0.6 + 0.6 * 0.55 + 0.6 * 0.55 * 0.5 + 0.6 * 0.55 * 0.5 * 0.45


def seconds(requests: int, k: int, drafter: str | None, prefill: int = 0, **model: float) -> float:
    return StepTimeModel(**model).seconds(
        requests=requests, lookahead=k, prefill_tokens=prefill, drafter=drafter
    )


def gain(requests: int) -> float:
    """Tokens per second of EAGLE K=4 over those of no speculation."""
    return LENGTH * seconds(requests, 0, None) / seconds(requests, 4, "eagle")


def test_eagle_wins_below_twenty_and_loses_above_twenty_four() -> None:
    assert gain(1) > 1.5
    assert all(gain(n) > 1.0 for n in range(1, 21))
    assert all(gain(n) < 1.0 for n in range(24, 200))
    assert gain(40) < 0.75


def test_steps_are_long_enough_for_a_small_machine() -> None:
    for requests in range(1, 41):
        assert 0.1 <= seconds(requests, 0, None) <= 0.2
        assert 0.1 <= seconds(requests, 4, "eagle") <= 0.5


def test_compute_costs_only_above_the_knee() -> None:
    below = seconds(48, 0, None) - seconds(47, 0, None)
    above = seconds(50, 0, None) - seconds(49, 0, None)
    assert below == pytest.approx(0.0006)
    assert above == pytest.approx(0.0024)


def test_each_draft_costs_a_pass_of_its_method() -> None:
    def pass_s(method: str) -> float:
        return seconds(1, 2, method) - seconds(1, 1, method)

    assert pass_s("ngram") < pass_s("eagle") < pass_s("draft_model")
    assert pass_s("eagle") == pytest.approx(0.00405)
    overridden = StepTimeModel(draft_ms=7.0, draft_request_ms=0.0)
    step = overridden.seconds(requests=1, lookahead=2, prefill_tokens=0, drafter="eagle")
    assert step == pytest.approx(seconds(1, 0, None) + 0.014)


@pytest.mark.parametrize(("requests", "tax"), [(2, 0.066), (189, 0.216)])
def test_an_idle_drafter_costs_what_was_measured(requests: int, tax: float) -> None:
    off, idle = seconds(requests, 0, None), seconds(requests, 0, "eagle")
    assert idle / off - 1 == pytest.approx(tax, abs=0.001)


def test_prompt_tokens_and_scale_are_linear() -> None:
    assert seconds(1, 0, None, prefill=100) - seconds(1, 0, None) == pytest.approx(0.015)
    assert seconds(9, 4, "eagle", scale=0.5) == pytest.approx(seconds(9, 4, "eagle") / 2)
