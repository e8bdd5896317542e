"""The telemetry section of the configuration: what each source takes, and what it is told."""

from pathlib import Path

import pytest

from ridgeline.settings.config import InvalidConfigError, parse_config
from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.scrape_endpoint import PodsEndpoint
from ridgeline.telemetry.tls import ClientCertificate


def one(**fields: object) -> Endpoint | PodsEndpoint:
    return parse_config({"telemetry": [fields]}).telemetry[0].endpoint()


def refused(content: dict[str, object]) -> str:
    with pytest.raises(InvalidConfigError) as error:
        parse_config(content)
    return str(error.value)


def test_pods_need_no_address() -> None:
    assert one(source="Pods") == PodsEndpoint(name="default")


def test_everything_about_pods_can_be_said() -> None:
    endpoint = one(
        name="direct",
        source="Pods",
        timeoutSeconds=8,
        caFile="/run/ca.pem",
        clientCertificateFile="/run/tls.crt",
        clientKeyFile="/run/tls.key",
        pods={
            "path": "/vllm/metrics",
            "scheme": "https",
            "serverName": "vllm.example",
            "concurrency": 4,
            "timeoutSeconds": 2,
            "maxPageBytes": 2048,
        },
    )
    assert endpoint == PodsEndpoint(
        name="direct",
        path="/vllm/metrics",
        scheme="https",
        ca_file=Path("/run/ca.pem"),
        client_certificate=ClientCertificate(
            certificate_file=Path("/run/tls.crt"), key_file=Path("/run/tls.key")
        ),
        server_name="vllm.example",
        concurrency=4,
        timeout_seconds=8,
        pod_timeout_seconds=2,
        max_answer_bytes=2048,
    )


def test_a_store_takes_parameters_limits_and_a_client_certificate() -> None:
    endpoint = one(
        url="https://thanos:9090",
        parameters={"partial_response": "true"},
        clientCertificateFile="/run/tls.crt",
        clientKeyFile="/run/tls.key",
        maxAnswerBytes=2048,
        maxSeries=7,
    )
    assert isinstance(endpoint, Endpoint)
    assert endpoint.parameters == {"partial_response": "true"}
    assert endpoint.client_certificate is not None
    assert (endpoint.max_answer_bytes, endpoint.max_series) == (2048, 7)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"source": "Pods", "url": "http://x"}, "url is for source Prometheus only"),
        ({"source": "Pods", "bearerTokenFile": "/t"}, "bearerTokenFile is for source Prometheus"),
        ({"source": "Pods", "headers": {"X-A": "b"}}, "headers is for source Prometheus only"),
        (
            {"source": "Pods", "matchers": [{"label": "a", "value": "b"}]},
            "matchers is for source Prometheus only",
        ),
        ({"source": "Pods", "pods": {"path": "metrics"}}, "path: 'metrics' must begin with /"),
        ({"source": "Pods", "pods": {"scheme": "ftp"}}, "telemetry.0.pods.scheme"),
        ({"source": "Pod"}, "telemetry.0.source"),
        ({"url": "http://x", "pods": {}}, "pods is for source Pods only"),
        ({"url": "http://x", "clientKeyFile": "/k"}, "go together"),
        ({"url": "http://x", "parameters": {"time": "0"}}, "'time' cannot be set"),
        ({"url": "http://x:99999"}, "its port is not a number"),
    ],
)
def test_fields_that_do_not_go_together_are_told(fields: dict[str, object], words: str) -> None:
    assert words in refused({"telemetry": [fields]})


@pytest.mark.parametrize(
    "url",
    [
        "http://joe:hunter2@prometheus",
        "joe:hunter2@prometheus:9090",
        "//joe:hunter2@prometheus",
        "ftp://joe:hunter2@prometheus",
        "http://prometheus:hunter2",
        "http://prometheus?token=hunter2",
    ],
)
def test_no_message_repeats_an_address(url: str) -> None:
    assert "hunter2" not in refused({"telemetry": [{"url": url}]})


def test_a_window_holds_at_least_four_scrapes_of_a_pod() -> None:
    content: dict[str, object] = {"telemetry": [{"source": "Pods"}], "tickSeconds": 60}
    assert "shorter than 4 ticks of 60 s" in refused({**content, "rateWindowSeconds": 239})
    assert parse_config({**content, "rateWindowSeconds": 240}).rate_window_seconds == 240
    # Where a store scrapes, the tick says nothing about scrapes.
    assert parse_config({"telemetry": [{"url": "http://x"}], "tickSeconds": 600}).telemetry
