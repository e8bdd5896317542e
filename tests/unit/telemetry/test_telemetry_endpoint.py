"""What an endpoint takes, refuses and hands on."""

from pathlib import Path

import pytest

from ridgeline.telemetry.endpoint import BearerToken, Endpoint, Matcher
from ridgeline.telemetry.errors import CredentialsError
from ridgeline.telemetry.tls import ClientCertificate


def endpoint(**fields: object) -> Endpoint:
    return Endpoint(**({"name": "main", "url": "http://prometheus:9090"} | fields))  # type: ignore[arg-type]


def test_a_path_prefix_is_kept_without_its_last_slash() -> None:
    assert endpoint(url="https://mimir/prometheus/").url == "https://mimir/prometheus"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"url": "prometheus:9090"}, "http:// or https://"),
        ({"url": "ftp://x"}, "http:// or https://"),
        ({"url": "http://"}, "http:// or https://"),
        ({"url": "http://x?dedup=true"}, "no \\?query"),
        ({"namespace_label": "a-b"}, "namespace_label: 'a-b'"),
        ({"pod_label": "1pod"}, "pod_label: '1pod'"),
        ({"pod_label": "namespace"}, "must differ"),
        ({"pod_label": "engine"}, "must differ"),
        ({"timeout_seconds": 0.0}, "timeout_seconds: 0.0"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds: nan"),
        ({"max_answer_bytes": -1}, "max_answer_bytes: -1"),
        ({"max_series": 0}, "max_series: 0"),
        ({"headers": {"A b": "x"}}, "not a header name"),
        ({"headers": {"X": "a\r\nHost: b"}}, "control characters"),
        ({"headers": {"authorization": "x"}}, "use auth"),
        ({"parameters": {"query": "up"}}, "'query' cannot be set"),
        ({"parameters": {"": "up"}}, "'' cannot be set"),
        ({"url": "http://x:port"}, "its port is not a number"),
    ],
)
def test_bad_fields_are_named(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        endpoint(**fields)


@pytest.mark.parametrize(
    "url", ["http://user:hunter2@prometheus", "user:hunter2@prometheus", "ftp://x/hunter2"]
)
def test_an_address_that_is_refused_is_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="url: ") as caught:
        endpoint(url=url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("label", "operator"), [("a-b", "="), ("", "="), ("a", "=="), ("a", "~")])
def test_bad_matchers_are_refused(label: str, operator: str) -> None:
    with pytest.raises(ValueError, match="matchers"):
        Matcher(label=label, value="x", operator=operator)  # type: ignore[arg-type]


def test_an_endpoint_can_be_a_key_and_cannot_be_changed() -> None:
    headers = {"X-Scope-OrgID": "blue"}
    one = endpoint(headers=headers)
    headers["X-Scope-OrgID"] = "red"
    assert one.headers == {"X-Scope-OrgID": "blue"}
    assert {one: 1}[endpoint(headers={"X-Scope-OrgID": "blue"})] == 1
    with pytest.raises(TypeError):
        one.headers["X"] = "y"  # type: ignore[index]


def test_extra_headers_are_not_shown() -> None:
    assert "k3y" not in repr(endpoint(headers={"X-Key": "k3y"}))


@pytest.mark.parametrize("content", ["", "  \n", "two words", "line\nline", "tökén", "nul\0"])
def test_useless_credentials_are_refused_without_being_shown(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    with pytest.raises(CredentialsError, match="put the bare token") as caught:
        endpoint(auth=BearerToken(token_file=tmp_path / "token")).request_headers()
    assert "words" not in str(caught.value)


def test_credentials_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xff\xfe")
    with pytest.raises(CredentialsError, match="not text"):
        endpoint(auth=BearerToken(token_file=tmp_path / "token")).request_headers()


def test_verification_is_on_unless_switched_off() -> None:
    assert endpoint().ssl_context() is True
    assert endpoint(verify=False).ssl_context() is False


def test_the_library_gets_the_same_connection(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0ken")
    made = endpoint(
        url="https://mimir/prometheus/",
        auth=BearerToken(token_file=tmp_path / "token"),
        headers={"X-Scope-OrgID": "blue"},
        parameters={"partial_response": "true"},
        ca_file=tmp_path / "ca.pem",
        client_certificate=ClientCertificate(
            certificate_file=tmp_path / "tls.crt", key_file=tmp_path / "tls.key"
        ),
        timeout_seconds=7.0,
    ).as_prometheus_connect()
    assert made.url == "https://mimir/prometheus"
    assert made.headers == {"Authorization": "Bearer t0ken", "X-Scope-OrgID": "blue"}
    assert made._session.verify == str(tmp_path / "ca.pem")
    assert made._session.cert == (str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"))
    assert made._session.params == {"partial_response": "true"}
    assert made._session.trust_env is False
    assert made._session.get_adapter(made.url).max_retries.total == 0
    assert made._timeout == 7


def test_the_library_does_not_verify_where_the_tick_does_not() -> None:
    assert endpoint(verify=False).as_prometheus_connect()._session.verify is False


def test_short_header_values_are_not_taken_for_secrets() -> None:
    """Tenant "1" would otherwise blot out every 1 in a message."""
    one = endpoint(headers={"X-Scope-OrgID": "1", "X-Key": "k3y-of-tenant"})
    assert one.secrets(one.request_headers()) == ("k3y-of-tenant",)
