"""What is known of the engine's release holds what would not start, and what nobody allowed."""

import pytest

from ridgeline.policy.decision import Outcome
from ridgeline.policy.engine_report import EngineReport
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason
from tests.unit.policy.moments import about_to_switch, settings


def report(
    version: str | None = "0.24.0",
    *,
    verified: bool = True,
    automatic: bool = True,
    allowed: bool = False,
    **refused: str,
) -> EngineReport:
    return EngineReport(
        version=version,
        known_as="0.33.0",
        verified=verified,
        automatic=automatic,
        unverified_allowed=allowed,
        refused=refused,
    )


def test_a_release_that_was_read_and_refuses_nothing_lets_the_roll_begin() -> None:
    decision = about_to_switch(settings=settings(engine=report()))
    assert (decision.outcome, decision.profile) == (Outcome.SWITCH, "none")


def test_what_the_engine_would_refuse_is_not_even_recommended_to_be_rolled() -> None:
    engine = report(none="--speculative-config: an empty value stops the start; use a launcher")
    for mode in Mode:
        decision = about_to_switch(settings=settings(mode=mode, engine=engine))
        assert (decision.outcome, decision.reason) == (Outcome.HOLD, Reason.ENGINE_WOULD_REFUSE)
        assert decision.diagnostics.decided_by == "engine"
        assert "vLLM 0.24.0 would not serve none: --speculative-config" in decision.message


def test_an_order_does_not_start_what_the_engine_would_refuse() -> None:
    ordered = settings(forced="none", engine=report(none="it stops the start"))
    decision = about_to_switch(settings=ordered)
    assert (decision.outcome, decision.reason) == (Outcome.HOLD, Reason.ENGINE_WOULD_REFUSE)
    elsewhere = settings(forced="none", engine=report(eagle2="it stops the start"))
    assert about_to_switch(settings=elsewhere).reason is Reason.FORCED


@pytest.mark.parametrize(
    ("engine", "reason", "way_out"),
    [
        (report(None, verified=False), Reason.ENGINE_VERSION_UNKNOWN, "set spec.engine.version"),
        (report("0.40.0", verified=False), Reason.ENGINE_NOT_VERIFIED, "update ridgeline"),
        (report("0.9.2", automatic=False), Reason.ENGINE_TOO_OLD, "use 0.11 or newer"),
    ],
)
def test_a_release_that_nobody_read_or_that_tells_too_little_is_recommended_for_only(
    engine: EngineReport, reason: Reason, way_out: str
) -> None:
    decision = about_to_switch(settings=settings(engine=engine))
    assert (decision.outcome, decision.reason) == (Outcome.HOLD, reason)
    assert decision.recommended == "none"
    assert way_out in decision.message
    ordered = about_to_switch(settings=settings(engine=engine, forced="none"))
    assert ordered.outcome is Outcome.SWITCH


@pytest.mark.parametrize("version", [None, "0.40.0"])
def test_a_person_may_allow_a_release_that_nobody_read(version: str | None) -> None:
    allowed = settings(engine=report(version, verified=False, allowed=True))
    assert about_to_switch(settings=allowed).outcome is Outcome.SWITCH


def test_allowing_what_is_not_known_does_not_allow_a_release_that_tells_too_little() -> None:
    old = settings(engine=report("0.9.2", automatic=False, allowed=True))
    assert about_to_switch(settings=old).reason is Reason.ENGINE_TOO_OLD


def test_the_mode_is_told_before_the_release() -> None:
    engine = report("0.40.0", verified=False)
    decision = about_to_switch(settings=settings(mode=Mode.RECOMMEND_ONLY, engine=engine))
    assert decision.reason is Reason.RECOMMEND_ONLY
