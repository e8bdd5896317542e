"""How long a server drains, as its command line says."""

import pytest

from ridgeline.engine.flags import shutdown_timeout_seconds


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ((), 0.0),
        (("--shutdown-timeout=90",), 90.0),
        (("--shutdown-timeout", "30"), 30.0),
        (("--shutdown_timeout=30",), 30.0),
        (("--shutdown-timeout=5", "--shutdown-timeout=7"), 7.0),
        (("sh", "-c", "exec vllm serve m --shutdown-timeout 12 --port 1"), 12.0),
        (("--shutdown-timeout=soon",), 0.0),
    ],
)
def test_the_last_mention_counts(words: tuple[str, ...], seconds: float) -> None:
    assert shutdown_timeout_seconds(words) == seconds
