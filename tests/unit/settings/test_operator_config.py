"""The operator's configuration file: what is read, and what one bad field is told."""

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.settings.config import InvalidConfigError, OperatorConfig, load_config, parse_config
from ridgeline.telemetry.endpoint import BasicAuth, BearerToken, Endpoint, Matcher

SECRET = "hunter2-hunter2"
ENDPOINT: dict[str, object] = {"url": "http://prometheus:9090"}


def config(**fields: object) -> dict[str, object]:
    return {"telemetry": [ENDPOINT], **fields}


def endpoint(**fields: object) -> dict[str, object]:
    return {"telemetry": [{**ENDPOINT, **fields}]}


def told(content: dict[str, object]) -> str:
    with pytest.raises(InvalidConfigError) as error:
        parse_config(content, source="ridgeline.yaml")
    message = str(error.value)
    assert message.startswith("ridgeline.yaml: ")
    assert "\n" not in message
    return message


def test_the_least_that_is_enough() -> None:
    read = parse_config(config())

    assert read.telemetry[0].name == "default"
    assert read.lease.enabled
    assert not read.freeze
    assert (read.tick_seconds, read.rate_window_seconds, read.stale_after_seconds) == (15, 120, 60)


def test_everything_can_be_said() -> None:
    read = parse_config(
        {
            "namespaces": ["inference", "other"],
            "tickSeconds": 5,
            "rateWindowSeconds": 60,
            "staleAfterSeconds": 30,
            "relistSeconds": 300,
            "maxConcurrentRolls": 1,
            "freeze": True,
            "port": 0,
            "lease": {"enabled": False, "namespace": "ops", "name": "a.b", "durationSeconds": 30},
            "telemetry": [
                {
                    "name": "eu",
                    "url": "https://prometheus.example/tenant/",
                    "bearerTokenFile": "/run/token",
                    "headers": {"X-Scope-OrgID": SECRET},
                    "caFile": "/run/ca.crt",
                    "insecureSkipVerify": True,
                    "timeoutSeconds": 3,
                    "namespaceLabel": "kubernetes_namespace",
                    "podLabel": "kubernetes_pod",
                    "matchers": [{"label": "cluster", "value": "a", "operator": "=~"}],
                },
                {**ENDPOINT, "username": "joe", "passwordFile": "/run/password"},
            ],
        }
    )
    first, second = (each.endpoint() for each in read.telemetry)
    assert isinstance(first, Endpoint)
    assert isinstance(second, Endpoint)

    assert first.auth == BearerToken(token_file=Path("/run/token"))
    assert first.headers == {"X-Scope-OrgID": SECRET}
    assert (first.name, first.url) == ("eu", "https://prometheus.example/tenant")
    assert (first.verify, first.ca_file, first.timeout_seconds) == (False, Path("/run/ca.crt"), 3)
    assert first.namespace_label == "kubernetes_namespace"
    assert first.pod_label == "kubernetes_pod"
    assert first.matchers == (Matcher(label="cluster", value="a", operator="=~"),)
    assert second.auth == BasicAuth(username="joe", password_file=Path("/run/password"))
    assert read.lease.duration_seconds == 30
    assert read.namespaces == ("inference", "other")
    assert SECRET not in repr(read)
    assert SECRET not in str(read)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, ("telemetry", "required")),
        ({"telemetry": []}, ("telemetry", "at least 1")),
        ({"telemetry": [{}]}, ("telemetry.0", "url is required")),
        (config(telemetri=[]), ("telemetri", "no such field")),
        (config(tick_second=1), ("tick_second", "no such field")),
        (config(tickSeconds=0), ("tickSeconds", "greater than or equal to 1", "got 0")),
        (config(tickSeconds="soon"), ("tickSeconds", "number", "'soon'")),
        (config(tickSeconds=math.nan), ("tickSeconds", "finite")),
        (config(tickSeconds=math.inf), ("tickSeconds",)),
        (config(staleAfterSeconds=math.nan), ("staleAfterSeconds", "finite")),
        (config(relistSeconds=math.nan), ("relistSeconds", "finite")),
        (config(rateWindowSeconds=1.5), ("rateWindowSeconds", "integer", "1.5")),
        (config(rateWindowSeconds=3), ("rateWindowSeconds", "4", "got 3")),
        (config(maxConcurrentRolls=0), ("maxConcurrentRolls", "got 0")),
        (config(port=70_000), ("port", "65535", "70000")),
        (config(freeze="perhaps"), ("freeze", "'perhaps'")),
        (config(namespaces="inference"), ("namespaces", "'inference'")),
        (config(namespaces=["In/ference"]), ("namespaces.0", "'In/ference'")),
        (config(namespaces=[None]), ("namespaces.0", "string")),
        (config(lease={"durationSeconds": 1}), ("lease.durationSeconds", "5", "got 1")),
        (config(lease={"namespace": ""}), ("lease.namespace",)),
        (config(lease={"name": "a/b"}), ("lease.name", "'a/b'")),
        (config(lease={"nmae": "x"}), ("lease.nmae", "no such field")),
        (endpoint(name="Eu West"), ("telemetry.0.name", "'Eu West'")),
        (endpoint(timeoutSeconds=0), ("telemetry.0.timeoutSeconds", "got 0")),
        (endpoint(timeoutSeconds=math.nan), ("telemetry.0.timeoutSeconds", "finite")),
        (endpoint(url="prometheus:9090"), ("telemetry.0", "url", "http")),
        (endpoint(url="http://p/?x=1"), ("telemetry.0", "url", "query")),
        (endpoint(namespaceLabel="a-b"), ("telemetry.0", "namespace_label", "'a-b'")),
        (endpoint(podLabel="namespace"), ("telemetry.0", "differ")),
        (endpoint(username="joe"), ("telemetry.0", "passwordFile", "both")),
        (endpoint(passwordFile="/x"), ("telemetry.0", "username", "both")),
        (
            endpoint(username="joe", passwordFile="/x", bearerTokenFile="/y"),
            ("telemetry.0", "exclude", "keep one"),
        ),
        (
            endpoint(matchers=[{"label": "a", "value": "b", "operator": "=="}]),
            ("telemetry.0.matchers.0.operator", "'=='"),
        ),
        (endpoint(matchers=[{"label": "a-b", "value": "c"}]), ("telemetry.0", "'a-b'")),
        ({"telemetry": [ENDPOINT, ENDPOINT]}, ("telemetry", "'default' is used twice", "rename")),
    ],
    ids=str,
)
def test_one_bad_field_gives_one_clear_message(
    content: dict[str, object], words: tuple[str, ...]
) -> None:
    message = told(content)

    for word in words:
        assert word in message


@pytest.mark.parametrize(
    "content",
    [
        endpoint(bearerToken=SECRET),
        endpoint(headers={"Authorization": SECRET}),
        endpoint(headers={"X Y": SECRET}),
        endpoint(headers={"X-A": SECRET + "\n"}),
        endpoint(headers={"X-A": [SECRET]}),
        endpoint(headers=SECRET),
        endpoint(url=f"http://joe:{SECRET}@prometheus"),
        endpoint(url=[f"http://joe:{SECRET}@prometheus"]),
        endpoint(username="joe", headers={"X-A": SECRET}),
        endpoint(matchers=[{"label": "a", "value": [SECRET]}]),
        {"telemetry": [f"http://joe:{SECRET}@prometheus"]},
        {"telemetry": f"http://joe:{SECRET}@prometheus"},
        config(password=SECRET),
    ],
    ids=str,
)
def test_no_message_repeats_what_may_be_a_secret(content: dict[str, object]) -> None:
    with pytest.raises(InvalidConfigError) as error:
        parse_config(content)

    assert SECRET not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def write(folder: Path, text: str | bytes) -> Path:
    file = folder / "ridgeline.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def test_a_file_is_read(tmp_path: Path) -> None:
    read = load_config(write(tmp_path, yaml.safe_dump(config(freeze=True))))

    assert read == parse_config(config(freeze=True))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("telemetry: [", ("is not YAML", "line 1")),
        (f"telemetry:\n  - headers: {{a: {SECRET}\n", ("is not YAML", "line")),
        ("a: \x00", ("is not YAML",)),
        (b"\xff\xfe\x00", ("UTF-8",)),
        ("", ("must hold a mapping",)),
        ("- a", ("must hold a mapping",)),
        ("just words", ("must hold a mapping",)),
        ("telemetry: []", ("telemetry", "at least 1")),
        ("a: " + "[" * 5000, ("is not YAML",)),
        ("tickSeconds: " + "9" * 5000 + "\ntelemetry: []", ("ridgeline.yaml",)),
        ("day: 2026-99-99", ("is not YAML",)),
        ("!!python/object:os.system {}", ("is not YAML",)),
    ],
    ids=[
        "open list",
        "open mapping",
        "NUL",
        "UTF-16",
        "empty",
        "a list",
        "words",
        "no endpoints",
        "deep",
        "a long number",
        "no date",
        "a tag",
    ],
)
def test_a_file_that_cannot_be_read_is_told(
    tmp_path: Path, text: str | bytes, words: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidConfigError) as error:
        load_config(write(tmp_path, text))

    for word in words:
        assert word in str(error.value)
    assert "ridgeline.yaml" in str(error.value)
    assert SECRET not in str(error.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfigError, match="name another with --config"):
        load_config(tmp_path / "nowhere.yaml")
    with pytest.raises(InvalidConfigError, match="cannot be read"):
        load_config(tmp_path)


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@given(st.sampled_from(sorted(OperatorConfig.model_fields)), VALUES)
def test_any_value_of_any_field_is_read_or_told(field: str, value: object) -> None:
    alias = OperatorConfig.model_fields[field].alias or field
    complaint, number = "", None
    try:
        number = getattr(parse_config(config(**{alias: value})), field)
    except InvalidConfigError as error:
        complaint = str(error)

    assert not complaint or f": {alias}" in complaint
    assert not isinstance(number, float) or math.isfinite(number)
