"""Profiles that are not chosen for a while, because a roll to them failed.

An entry binds until its time is over, as long as the profile and the target's Pod template are the
ones that failed: another image, another argument or an edited profile may be what mends it. It is
kept after its time, so that the next failure of the same kind binds for twice as long.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.terms.reasons import Reason

MAX_QUARANTINED: Final = 8

HOUR: Final = 3600.0
LONGEST_SECONDS: Final = 7 * 24 * HOUR

_PASSING: Final = frozenset(
    {
        Reason.PODS_UNSCHEDULABLE,
        Reason.IMAGE_PULL_FAILED,
        Reason.CONTAINER_CANNOT_START,
        Reason.ROLL_DEADLINE_EXCEEDED,
        Reason.CANARY_NOT_JUDGED,
        Reason.CANARY_NOT_SERVING,
    }
)
"""Failures of the surroundings, which pass without anybody editing anything."""

_PASSING_SECONDS: Final = HOUR
_LASTING_SECONDS: Final = 24 * HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A profile that failed.

    Attributes:
        profile: Its name.
        reason: What failed.
        message: The same for a person.
        since: Epoch seconds of the failure.
        until: Epoch seconds until which it binds.
        config: Fingerprint of the profile's config.
        template: Fingerprint of the target's Pod template.
        times: How often in a row it failed like this.
    """

    profile: str
    reason: Reason
    message: str
    since: float
    until: float
    config: str
    template: str
    times: int = 1


Entries = tuple[Quarantined, ...]


def quarantined(
    entries: Entries,
    profile: str,
    *,
    reason: Reason,
    message: str,
    config: str,
    template: str,
    now: float,
) -> Entries:
    """Return the entries with a failure of `profile` at `now`; the newest are kept."""
    before = next((each for each in entries if each.profile == profile), None)
    again = before is not None and (before.config, before.template) == (config, template)
    times = before.times + 1 if before is not None and again else 1
    base = _PASSING_SECONDS if reason in _PASSING else _LASTING_SECONDS
    entry = Quarantined(
        profile=profile,
        reason=reason,
        message=message,
        since=now,
        until=now + min(LONGEST_SECONDS, base * 2.0 ** min(times - 1, 16)),
        config=config,
        template=template,
        times=times,
    )
    others = tuple(each for each in entries if each.profile != profile)
    return (*others, entry)[-MAX_QUARANTINED:]


def counted_from(entries: Entries, profile: str, began: float, now: float) -> Entries:
    """Return the entries with a profile's time counted from now: its undoing took since `began`."""
    late = max(0.0, now - began)
    return tuple(
        replace(each, until=min(each.until + late, now + LONGEST_SECONDS))
        if each.profile == profile
        else each
        for each in entries
    )


def without(entries: Entries, profile: str) -> Entries:
    """Return the entries without a profile that has done well since."""
    return tuple(each for each in entries if each.profile != profile)


def still_concerned(
    entries: Entries, config_of: Callable[[str], str | None], template: str
) -> Entries:
    """Return the entries about profiles and a template that are still the same.

    Args:
        entries: All.
        config_of: Fingerprint of the config of a profile by its name, `None` when it is gone.
        template: Fingerprint of the target's Pod template.
    """
    return tuple(
        each
        for each in entries
        if each.template == template and config_of(each.profile) == each.config
    )


def binding(entries: Entries, now: float) -> Entries:
    """Return the entries that bind at `now`."""
    # A clock that jumped back binds for no longer than the entry was made for.
    return tuple(each for each in entries if now < each.until <= now + LONGEST_SECONDS)
