"""Texts that are no speculative config, with the way out of each."""

import pytest

from ridgeline.engine.check_text import check_text
from ridgeline.engine.findings import Finding, Severity
from tests.unit.engine.contracts import contract

CONFIG = '{"method":"mtp","num_speculative_tokens":1}'


def only(text: str, version: str = "0.33.0") -> Finding | None:
    got = list(check_text(text, contract(version)))
    assert len(got) <= 1
    return got[0] if got else None


@pytest.mark.parametrize("text", [CONFIG, f" {CONFIG}\n", "null"])
def test_a_config_is_none_of_them(text: str) -> None:
    assert only(text) is None


@pytest.mark.parametrize(
    ("version", "off"), [("0.10.0", False), ("0.10.1", True), ("0.33.0", True)]
)
def test_an_empty_value_is_no_speculation_from_0_10_1(version: str, off: bool) -> None:
    finding = only("", version)
    assert (finding is None) is off
    if finding is not None:
        assert finding.check == "ConfigEmpty"
        assert "usage error" in finding.consequence


def test_the_word_none_is_no_speculation_where_an_empty_value_is() -> None:
    assert only("None") is None
    assert only("None", "0.10.0") is not None
    assert only("none") is not None


def test_a_blank_is_not_empty() -> None:
    finding = only(" ")
    assert finding is not None
    assert finding.fix == "leave the value empty for no speculation"


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("$(SPECULATION_CONFIG)", "nothing expanded the variable"),
        ("${SPECULATION_CONFIG}", "nothing expanded the variable"),
        ("$SPECULATION_CONFIG", "nothing expanded the variable"),
        (f"'{CONFIG}'", "remove the quotes around"),
        (f'"{CONFIG}"', "remove the quotes around"),
        (CONFIG.replace('"', '\\"'), "remove the backslashes"),
        ("{" + CONFIG + "}", "write single braces"),
        ("{{ .Values.speculation }}", "write single braces"),
        (CONFIG.replace('"', '""'), "a template doubled them"),
        (CONFIG.replace('"', ""), "keep the quotes inside"),
        ('{"method":', "pass the object as it is"),
        ("eagle", "pass the object as it is"),
        ("[" * 100_000, "pass the object as it is"),
        ('{"a":' + "9" * 5000 + "}", "pass the object as it is"),
    ],
)
def test_what_is_not_json_says_how_it_came_about(text: str, way_out: str) -> None:
    finding = only(text)
    assert finding is not None
    assert finding.check == "ConfigNotJson"
    assert finding.severity is Severity.ERROR
    assert finding.flag == "--speculative-config"
    assert finding.fix.startswith(way_out) or way_out in finding.fix
    assert len(finding.value) <= 80


@pytest.mark.parametrize(
    ("text", "says"),
    [('"{}"', "a JSON text inside"), ("[1]", "JSON, no object"), ("4", "JSON, no object")],
)
def test_json_that_is_no_object(text: str, says: str) -> None:
    finding = only(text)
    assert finding is not None
    assert finding.check == "ConfigNotObject"
    assert says in finding.consequence


def test_an_object_without_keys_is_not_empty() -> None:
    finding = only("{}")
    assert finding is not None
    assert finding.check == "ConfigEmptyObject"
