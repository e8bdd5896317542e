"""How many requests a profile leaves room for."""

from dataclasses import replace

import pytest

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.memory import Room, room_of
from ridgeline.costmodel.workload import Workload
from ridgeline.terms.methods import Method
from tests.unit.costmodel.targets import (
    CHAT,
    EAGLE_8B,
    LLAMA_70B,
    NONE,
    QWEN_4B,
    QWEN_8B,
    accepted,
    arm,
    on,
)

HEAD = arm(2.4, 5, EAGLE_8B, Method.EAGLE, acceptance=accepted((0.76, 0.54, 0.39, 0.28, 0.21)))


def test_a_draft_takes_its_weights_once_and_its_cache_for_every_request() -> None:
    target, load = on(model=QWEN_8B), Workload(context_tokens=8000.0)
    draft = arm(3.0, 3, QWEN_4B, Method.DRAFT_MODEL)
    without, with_it = (room_of(target, each, load) for each in (NONE, draft))
    assert isinstance(without, Room)
    assert isinstance(with_it, Room)
    budget = (80 * 0.9 - 2) * 2**30 - 8.19e9 * 2
    assert without.max_concurrency == pytest.approx(budget / (147456 * 8000))
    assert with_it.draft_bytes == pytest.approx(4.02e9 * 2)
    assert with_it.max_concurrency == pytest.approx((budget - 4.02e9 * 2) / (2 * 147456 * 8000))
    assert with_it.by_memory


def test_a_head_that_shares_its_output_matrix_brings_less_than_it_reads() -> None:
    head = replace(HEAD, draft_added_params=0.25e9)
    found = room_of(on(), head, CHAT)
    assert isinstance(found, Room)
    assert found.draft_bytes == 0.5e9


def test_the_engines_flag_limits_what_memory_would_admit() -> None:
    found = room_of(on(max_num_seqs=64), NONE, CHAT)
    assert isinstance(found, Room)
    assert (found.max_concurrency, found.by_memory) == (64.0, False)


def test_a_model_that_does_not_fit_is_impossible() -> None:
    found = room_of(on(model=LLAMA_70B), NONE, CHAT)
    assert isinstance(found, CannotSay)
    assert found.impossible
