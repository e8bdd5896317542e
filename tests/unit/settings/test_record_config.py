"""The `record` section of the operator's configuration."""

from pathlib import Path

import pytest

from ridgeline.settings.config import InvalidConfigError, OperatorConfig, parse_config


def read(**section: object) -> OperatorConfig:
    return parse_config({"telemetry": [{"url": "http://prometheus:9090"}], "record": section})


def test_nothing_is_written_down_unless_a_folder_is_named() -> None:
    assert read().record.directory is None


def test_folder_and_limit_are_read() -> None:
    record = read(directory="/var/lib/ridgeline", maxMiB=64).record
    assert record.directory == Path("/var/lib/ridgeline")
    assert record.max_mib == 64


@pytest.mark.parametrize(
    ("section", "said"),
    [({"maxMiB": 0}, "record.maxMiB"), ({"maxMib": 5}, "no such field")],
)
def test_a_wrong_field_is_named(section: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidConfigError, match=said):
        read(directory="/x", **section)
