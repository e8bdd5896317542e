"""The control law in the lines of `explain`."""

from dataclasses import replace

from ridgeline.policy.decide import decide
from ridgeline.policy.explain import explain_lines
from ridgeline.policy.memory import Memory
from ridgeline.policy.wording import number
from tests.unit.policy import moments
from tests.unit.policy.predicted import NOW, facts, play, settings


def test_every_number_of_the_law_has_a_line() -> None:
    last = play(5.0, 300.0)[-1]
    lines = explain_lines(last, settings())
    told = lines[lines.index("The control law:") + 1 :][:7]
    act = last.diagnostics.law.act_at if last.diagnostics.law else None
    assert act is not None
    assert told == (
        "  demand D: 2000 tokens/s",
        "  border: eagle2 to none, mode Insured",
        "  cut-off D*: 8000 tokens/s (B* 40 requests per engine)",
        f"  roll-safe demand D_safe: {number(act.safe_demand)} tokens/s",
        f"  off above D_off: {number(act.off_demand or 0.0)} tokens/s "
        f"(B_off {number(act.off_concurrency or 0.0)} requests per engine)",
        f"  on below D_on: {number(act.on_demand)} tokens/s "
        f"(B_on {number(act.on_concurrency)} requests per engine)",
        "  expected peak P: not known",
    )


def test_in_regret_mode_what_staying_has_cost_stands_beside_the_cost_of_a_roll() -> None:
    law_decision = play(5.0, 60.0)[-1].diagnostics.law
    assert law_decision is not None
    assert law_decision.act_at is not None
    act = replace(law_decision.act_at, roll_cost=120.0, peak=0.8)
    made = replace(law_decision, regret=30.0, act_at=act)
    decision = play(5.0, 60.0)[-1]
    shown = replace(decision, diagnostics=replace(decision.diagnostics, law=made))
    lines = explain_lines(shown, settings())
    assert "  expected peak P: 0.8 times D*" in lines
    assert "  staying has cost 30 request-seconds, a roll costs 120" in lines


def test_while_it_sees_nothing_it_says_so() -> None:
    blind = facts(replicas=[moments.replica("blind")], desired=1)
    lines = explain_lines(decide(blind, settings(), Memory(), NOW), settings())
    start = lines.index("The control law:")
    assert lines[start + 1 : start + 3] == (
        "  demand D: not known",
        "  where it acts cannot be told now",
    )


def test_without_the_law_it_has_no_lines() -> None:
    lines = explain_lines(moments.about_to_switch(), moments.settings())
    assert "The control law:" not in lines
