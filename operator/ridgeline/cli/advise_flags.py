"""What a person types after `ridgeline advise`, read into values."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ridgeline.api.profiles import MAX_LOOKAHEAD, MAX_PROFILES
from ridgeline.cli.cutoff_flags import METHODS, FlagError, acceptance_of_flags
from ridgeline.engine.speculative_config import Profile
from ridgeline.terms.methods import Method

WIDEST: Final = 8
"""Lookahead up to which the best one is looked for: published heads seldom pay beyond 5."""

_FORM: Final = "write it as METHOD, METHOD:K or METHOD:K:MODEL, such as Eagle3 or Eagle3:3"
_LOAD: Final = re.compile(r"(?P<number>[0-9]*\.?[0-9]+)\s*(?P<unit>[a-z/]+)", re.IGNORECASE)
_PER_SECOND: Final = {
    "requests": ("req/s", "requests/s", "request/s", "rps"),
    "tokens": ("tok/s", "tokens/s", "token/s", "tps"),
}
_MEASURED: Final = re.compile(r"(?P<ms>[0-9]*\.?[0-9]+)(?:ms)?@(?P<at>[0-9]*\.?[0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedProfile:
    """A profile that advice is wanted on.

    Attributes:
        profile: The profile; its lookahead is the widest that is looked at where none was told.
        choose: Whether the best lookahead is still to be chosen.
    """

    profile: Profile
    choose: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A time per output token without speculation that a person measured.

    Attributes:
        seconds: The time.
        concurrency: Requests in decode per engine meanwhile.
    """

    seconds: float
    concurrency: float


def wanted_profiles(
    methods: Sequence[str], acceptance: Sequence[str], most: int
) -> tuple[WantedProfile, ...]:
    """Return the profiles that `--method` names, with what `--acceptance` says of them.

    Args:
        methods: Values of `--method`.
        acceptance: Values of `--acceptance`.
        most: Highest lookahead that the release works with.

    Raises:
        FlagError: One cannot be read, there is none, or two have one name.
    """
    if not methods:
        raise FlagError(f"--method is not given: {_FORM}")
    if len(methods) >= MAX_PROFILES:
        raise FlagError(f"--method is given {len(methods)} times: give at most {MAX_PROFILES - 1}")
    found = [_wanted(each, acceptance, most) for each in methods]
    names = [each.profile.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FlagError(f"--method: two are called {twice!r}: name them, such as a=Eagle3:3")
    for each in found:
        _refuse_length(each, acceptance)
    rates = acceptance_of_flags(acceptance, [each.profile for each in found])
    return tuple(_with_rates(each, rates) for each in found)


def _wanted(text: str, acceptance: Sequence[str], most: int) -> WantedProfile:
    name, equals, rest = text.partition("=")
    if not equals or ":" in name:
        name, rest = "", text
    word, _, more = rest.partition(":")
    count, _, model = more.partition(":")
    method = METHODS.get(word.casefold().replace("-", "").replace("_", ""))
    if method is None:
        methods = "Eagle, Eagle3, DraftModel, NGram, MTP and Suffix"
        raise FlagError(f"--method {text}: there is no method {word!r}: use one of {methods}")
    if model and method in (Method.NGRAM, Method.SUFFIX):
        raise FlagError(f"--method {text}: {word} drafts from the text itself: remove {model}")
    name = name or (f"{word.casefold()}-{count}" if count else word.casefold()).replace("_", "-")
    if not re.fullmatch(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", name):
        raise FlagError(
            f"--method {text}: {name!r} is no name of a profile: use small letters, digits and "
            "dashes, no dash at the ends"
        )
    told = _lookahead(text, count) if count else _positions_told(name, acceptance)
    fixed = told is not None or method is Method.SUFFIX
    profile = Profile(
        name=name,
        method=method,
        model=model or None,
        num_speculative_tokens=told if fixed else min(WIDEST, most),
    )
    return WantedProfile(profile=profile, choose=not fixed)


def _lookahead(text: str, count: str) -> int:
    if not (count.isascii() and count.isdecimal() and 1 <= int(count[:9]) <= MAX_LOOKAHEAD):
        raise FlagError(
            f"--method {text}: lookahead {count!r} is not a whole number from 1 to "
            f"{MAX_LOOKAHEAD}: {_FORM}"
        )
    return int(count)


def _positions_told(name: str, acceptance: Sequence[str]) -> int | None:
    """Return how many positions `--acceptance` lists for a profile: then K is that."""
    for text in acceptance:
        told, equals, rest = text.partition("=")
        if (not equals or told == name) and "," in text:
            count = len((rest if equals else text).split(","))
            return count if count <= MAX_LOOKAHEAD else None
    return None


def _refuse_length(wanted: WantedProfile, acceptance: Sequence[str]) -> None:
    """Refuse an acceptance length where the lookahead that it was measured with is not told."""
    if not wanted.choose:
        return
    name, method = wanted.profile.name, wanted.profile.method.value
    for text in acceptance:
        told, equals, rest = text.partition("=")
        number = rest if equals else text
        is_number = re.fullmatch(r"\d+(?:\.\d+)?", number) is not None
        if (not equals or told == name) and is_number and float(number) > 1.0:
            raise FlagError(
                f"--acceptance {text}: an acceptance length belongs to a lookahead: name it as "
                f"--method {name}={method}:K"
            )


def _with_rates(wanted: WantedProfile, rates: Mapping[str, tuple[float, ...]]) -> WantedProfile:
    told = rates.get(wanted.profile.name)
    if told is None:
        return wanted
    return replace(wanted, profile=replace(wanted.profile, acceptance=told))


def load_of_flag(text: str, output_tokens: float) -> float:
    """Return a load in output tokens per second, from requests or tokens per second.

    Raises:
        FlagError: It has no unit that is known, or no number above 0.
    """
    found = _LOAD.fullmatch(text.strip())
    unit = found["unit"].casefold() if found else ""
    kind = next((kind for kind, units in _PER_SECOND.items() if unit in units), None)
    number = float(found["number"]) if found else math.nan
    if kind is None or not 0.0 < number <= 1e9:
        raise FlagError(
            f"--load {text}: write requests or output tokens per second, such as 12req/s or "
            "3000tok/s"
        )
    return number * output_tokens if kind == "requests" else number


def measured_of_flag(text: str | None) -> Measured | None:
    """Return a measured time per output token; `None` for none.

    Raises:
        FlagError: It is not written as milliseconds at a concurrency.
    """
    if text is None:
        return None
    found = _MEASURED.fullmatch(text.strip())
    if found is None or not (
        0.01 <= float(found["ms"]) <= 1e5 and 0.1 <= float(found["at"]) <= 1e5
    ):
        raise FlagError(
            f"--measured-tpot {text}: write milliseconds per output token without speculation, and "
            "the requests in decode per engine meanwhile, such as 11.5@16"
        )
    return Measured(seconds=float(found["ms"]) / 1e3, concurrency=float(found["at"]))
