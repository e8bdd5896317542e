"""No address leaves with a record; everything else stays as it was."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.policy.facts import Problem, TelemetryFacts
from ridgeline.telemetry.record_scrub import scrubbed, without_addresses
from ridgeline.terms.reasons import Reason
from tests.unit.telemetry.record_ticks import tick, with_error


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Cannot connect to host prom.mon:9090 ssl:default", "host [address] ssl:default"),
        ("HTTP 302, a redirect to sso.example, which", "a redirect to [address], which"),
        ("see https://user:word@prom/api?token=x; then", "see [address]; then"),
        ("from 10.1.2.3:443 and 192.168.0.1.", "from [address] and [address]."),
        ("node ip-10-1-2-3.ec2.internal is full", "node [address] is full"),
        ("peer [2001:db8::1]:443 and fe80::1%eth0", "peer [[address]]:443 and [address]%eth0"),
        ("at 2001:db8:0:1:2:3:4:5: refused", "at [address]: refused"),
        ("at ::ffff:10.1.2.3.", "at [address]."),
        ("mismatch, certificate is not valid for 'prom.corp'.", "not valid for '[address]'."),
    ],
)
def test_addresses_are_taken_out(text: str, left: str) -> None:
    assert left in without_addresses(text)


@pytest.mark.parametrize(
    "text",
    [
        "3 of 4 Ready Pods joined at 08:15:30",
        "vLLM 0.24.0 of image v1.2.3",
        "query sample_age failed: HTTP 503: overloaded; look at the endpoint's own log",
        "concurrency 22.5 >= 20 for 30 s: none is better",
        "endpoint 'eu': no answer within 10 s",
    ],
)
def test_what_is_no_address_stays(text: str) -> None:
    assert without_addresses(text) == text


@given(st.ip_addresses(v=4), st.sampled_from(["{}", "({})", "at {}, then", "{}:9090"]))
@settings(deadline=None, max_examples=50)
def test_no_ipv4_address_stays(address: object, around: str) -> None:
    assert str(address) not in without_addresses(around.format(address))


@given(st.ip_addresses(v=6), st.sampled_from(["{}", "peer {} said", "to {}.", "{}: no"]))
@settings(deadline=None, max_examples=50)
def test_no_ipv6_address_stays(address: object, around: str) -> None:
    assert without_addresses(around.format(address)) == around.format("[address]")


def test_every_text_of_a_tick_that_an_endpoint_wrote_is_looked_at() -> None:
    said = "host 10.1.2.3"
    dirty = with_error(said)
    telemetry = dirty.facts.telemetry
    assert isinstance(telemetry, TelemetryFacts)
    assert dirty.decision is not None
    dirty = replace(
        dirty,
        facts=replace(
            dirty.facts, telemetry=replace(telemetry, warnings=(said,), partial=(said, "fine"))
        ),
        decision=replace(dirty.decision, message=said),
        overruled=Problem(reason=Reason.UNDONE_BY_OTHERS, message=said),
    )
    clean = scrubbed(dirty)
    assert "10.1.2.3" in repr(dirty)
    assert "10.1.2.3" not in repr(clean)
    assert isinstance(clean.facts.telemetry, TelemetryFacts)
    assert clean.facts.telemetry.partial == ("host [address]", "fine")
    assert clean.facts.replicas is dirty.facts.replicas


def test_a_clean_tick_stays_as_it_is() -> None:
    assert scrubbed(tick()) == tick()
