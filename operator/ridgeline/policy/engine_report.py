"""What is known of the engine's release before a roll: whether it serves a profile at all.

A release that nobody read is judged as the last one before it, and a roll on that guess is a
person's to allow. A profile that the release is known to refuse is not chosen whoever asks: its
servers would not start.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ridgeline.policy.verdict import Hold
from ridgeline.terms.reasons import Reason

FIRST_AUTOMATIC: Final = "0.11"
"""The first vLLM release that exports the latency per token (facts of its package)."""

_ALLOW: Final = "set spec.engine.unverified: Allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReport:
    """One target's engine, as far as its release and its command line tell.

    Attributes:
        version: The release as the image's tag or a person tells it; `None` when nobody does.
        known_as: The release whose package was read and that it is judged by.
        verified: Whether that is the same release, or an earlier patch of it.
        automatic: Whether it exports what an automatic mode needs.
        unverified_allowed: Whether a person allows rolls on a release that was not read.
        refused: What each profile that it would not serve meets, by the profile's name.
        notes: What else a person should know of a profile, by the profile's name.
    """

    version: str | None
    known_as: str
    verified: bool
    automatic: bool
    unverified_allowed: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def refusal(report: EngineReport | None, profile: str) -> Hold | None:
    """Return why the engine would not serve a profile; `None` when it would, as far as known."""
    if report is None or profile not in report.refused:
        return None
    release = f"vLLM {report.version}" if report.version else "the engine"
    return Hold(
        reason=Reason.ENGINE_WOULD_REFUSE,
        message=f"{release} would not serve {profile}: {report.refused[profile]}",
    )


def release_obstacle(report: EngineReport | None) -> Hold | None:
    """Return why no roll is begun on this release without a person; `None` when one may be."""
    if report is None:
        return None
    if report.version is None:
        if report.unverified_allowed:
            return None
        return Hold(
            reason=Reason.ENGINE_VERSION_UNKNOWN,
            message="vLLM's version is not known, since the image's tag names none: set "
            f"spec.engine.version, or {_ALLOW} to have it taken for {report.known_as}",
        )
    if not report.automatic:
        return Hold(
            reason=Reason.ENGINE_TOO_OLD,
            message=f"vLLM {report.version} exports no latency per token, so ridgeline can only "
            f"recommend: use {FIRST_AUTOMATIC} or newer",
        )
    if report.verified or report.unverified_allowed:
        return None
    return Hold(
        reason=Reason.ENGINE_NOT_VERIFIED,
        message=f"vLLM {report.version} was not read when this version of ridgeline was made (it "
        f"is judged as {report.known_as}): update ridgeline, or {_ALLOW}",
    )
