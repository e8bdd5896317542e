"""How often drafts are right, from whatever is known of it."""

import pytest

from ridgeline.costmodel.acceptance import (
    Task,
    prior,
    rates_from_counters,
    rates_from_length,
    rates_from_one,
    widened,
)
from ridgeline.costmodel.arm import Origin
from ridgeline.costmodel.constants import CONSTANTS, sources
from ridgeline.terms.methods import Method


def test_one_rate_gives_its_powers() -> None:
    assert rates_from_one(0.5, 3) == (0.5, 0.25, 0.125)
    with pytest.raises(ValueError, match="give 0 to 1"):
        rates_from_one(1.5, 3)


def test_a_length_gives_the_rates_that_give_it_back() -> None:
    assert 1.0 + sum(rates_from_length(2.6, 4)) == pytest.approx(2.6)
    assert rates_from_length(0.2, 2) == pytest.approx((0.0, 0.0), abs=1e-9)
    assert rates_from_length(9.0, 2) == pytest.approx((1.0, 1.0))


def test_observed_rates_are_made_fit_and_go_on_in_their_ratio() -> None:
    assert rates_from_counters((0.8, 0.4), 4) == pytest.approx((0.8, 0.4, 0.2, 0.1))
    assert rates_from_counters((0.5, 0.6, 1.7), 3) == (0.5, 0.5, 0.5)
    assert rates_from_counters((1.2, -0.1), 2) == (1.0, 0.0)
    assert rates_from_counters((0.5, float("nan"), 0.4), 3) == pytest.approx((0.5, 0.25, 0.125))
    assert rates_from_counters((), 2) == (0.0, 0.0)


def test_a_tree_is_right_more_often_than_its_chain() -> None:
    chain = (0.7, 0.4, 0.2)
    assert widened(chain, 1) == pytest.approx(chain)
    assert all(wide > one for wide, one in zip(widened(chain, 4), chain, strict=True))


@pytest.mark.parametrize("method", [each for each in Method if each.speculates])
@pytest.mark.parametrize("task", Task)
def test_a_prior_is_a_guess_and_says_so(method: Method, task: Task) -> None:
    found = prior(method, 4, task)
    assert found.origin is Origin.PRIOR
    assert found.relative_sd > 0.1
    assert 1.0 < found.length < 5.0
    assert (found.hit < 1.0) == (method in (Method.NGRAM, Method.SUFFIX))


def test_every_constant_has_a_source() -> None:
    found = sources()
    assert {name for name, *_ in found} == set(CONSTANTS.__dataclass_fields__)
    assert all(source for _, _, source, _ in found)
    assert any(weak for *_, weak in found)
