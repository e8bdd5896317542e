"""Numbers of a vLLM command line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.engine.flags import data_parallel_size


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ((), 1),
        (("vllm", "serve", "m"), 1),
        (("--data-parallel-size=4",), 4),
        (("--data-parallel-size", "4"), 4),
        (("--data_parallel_size=4",), 4),
        (("--data_parallel_size", "4"), 4),
        (("-dp", "4"), 4),
        (("-dp=4",), 4),
        (("--data-parallel-size=4", "--data-parallel-size=2"), 2),
        (("sh", "-c", "exec vllm serve m  --data-parallel-size 4\n --port 8000"), 4),
        (("sh", "-c", "exec vllm serve m -dp=4"), 4),
        (("--data-parallel-size-local=4",), 1),
        (("--data-parallel-size",), 1),
        (("--data-parallel-size=0",), 1),
        (("--data-parallel-size=-2",), 1),
        (("--data-parallel-size=two",), 1),
        (("--data-parallel-size=²",), 1),
        (("--data-parallel-size=$(DP)",), 1),
        (("--data-parallel-size=",), 1),
    ],
    ids=str,
)
def test_the_data_parallel_size(words: tuple[str, ...], size: int) -> None:
    assert data_parallel_size(words) == size


@given(st.lists(st.text() | st.sampled_from(["-dp", "--data-parallel-size", "-dp="])))
def test_any_command_line_gives_at_least_one_engine(words: list[str]) -> None:
    assert data_parallel_size(words) >= 1
