"""What the release of a target's engine is known to serve, for the checks before a roll."""

from collections.abc import Sequence
from functools import cache

from ridgeline.engine.container import Container
from ridgeline.engine.contract import EngineContract, contract_of
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, Profile
from ridgeline.engine.spelling_profile import render_for
from ridgeline.policy.engine_report import EngineReport
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.settings.preflight import NOTHING_KNOWN, Around, findings_by_profile
from ridgeline.terms.modes import UnverifiedEngine


def engine_report(
    container: Container,
    profiles: Sequence[Profile],
    version: str | None,
    *,
    around: Around = NOTHING_KNOWN,
    unverified: UnverifiedEngine = UnverifiedEngine.HOLD,
) -> EngineReport:
    """Return what a target's engine would serve.

    Args:
        container: The container that runs it.
        profiles: The serving's profiles.
        version: The engine's release; `None` when nobody tells, and nothing is refused then.
        around: What else is known.
        unverified: What a person wants of a release that was not read.
    """
    contract = _contract(version)
    allowed = unverified is UnverifiedEngine.ALLOW
    judged = version is not None or allowed
    found = findings_by_profile(container, profiles, contract, around) if judged else ()
    named = {profile.name: profile for profile in profiles}
    return EngineReport(
        version=version,
        known_as=contract.known_as,
        verified=contract.verified,
        automatic=contract.automatic,
        unverified_allowed=allowed,
        refused={
            name: why
            for name, findings in found
            if (why := _refusal(named[name], findings, contract)) is not None
        },
        notes={
            name: tuple(each.sentence() for each in findings if each.check not in _TOLD_APART)
            for name, findings in found
        },
    )


_TOLD_APART = frozenset({"ReleaseTooOld", "ReleaseNotRead"})
"""Findings about the release alone, which have a check of their own."""


@cache
def _contract(version: str | None) -> EngineContract:
    return contract_of(load_engine_contracts(), version)


def _refusal(profile: Profile, findings: Sequence[Finding], contract: EngineContract) -> str | None:
    worst = next((each for each in findings if each.severity is Severity.ERROR), None)
    if worst is not None:
        return f"{worst.flag} {worst.value}".rstrip() + f": {worst.consequence}; {worst.fix}"
    try:
        render_for(profile, contract)
    except InvalidSpeculativeConfigError as error:
        return str(error)
    return None
