"""Facts of a target as a person writes them on a command line."""

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from typing import Final

from ridgeline.api.profiles import MAX_LOOKAHEAD, MAX_PROFILES
from ridgeline.costmodel.acceptance import rates_from_length
from ridgeline.engine.speculative_config import Profile
from ridgeline.settings.accelerators import Catalogue
from ridgeline.settings.models import load_models, nearest
from ridgeline.terms.methods import Method


class FlagError(ValueError):
    """An option holds what it must not; the message names it, its value and what to write."""


_METHODS: Final = {
    "eagle": Method.EAGLE,
    "eagle2": Method.EAGLE,
    "eagle3": Method.EAGLE3,
    "draft": Method.DRAFT_MODEL,
    "draftmodel": Method.DRAFT_MODEL,
    "ngram": Method.NGRAM,
    "mtp": Method.MTP,
    "suffix": Method.SUFFIX,
}

_FORM: Final = "write it as METHOD:K or METHOD:K:MODEL, such as eagle3:3"
_RATES: Final = (
    "give a rate for each position such as 0.7,0.5,0.3, one rate per token such as 0.7, or an "
    "acceptance length such as 2.4"
)
_NAMED: Final = re.compile(
    r"(?:(?P<name>[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)=)?(?P<rest>.*)", re.DOTALL
)


def profiles_of_flags(texts: Sequence[str]) -> tuple[Profile, ...]:
    """Return the profiles that `--profile` names, and one without speculation.

    Raises:
        FlagError: A profile cannot be read, there is none, or two have one name.
    """
    if not texts:
        raise FlagError(f"--profile is not given: {_FORM}")
    if len(texts) >= MAX_PROFILES:
        raise FlagError(f"--profile is given {len(texts)} times: give at most {MAX_PROFILES - 1}")
    profiles = [*map(_profile, texts), Profile(name="none", method=Method.DISABLED)]
    names = [each.name for each in profiles]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FlagError(f"--profile: two are called {twice!r}: name them, such as a=eagle3:3")
    return tuple(profiles)


def _profile(text: str) -> Profile:
    name, rest = _named(text)
    word, _, more = rest.partition(":")
    count, _, model = more.partition(":")
    method = _METHODS.get(word.casefold().replace("-", "").replace("_", ""))
    if method is None:
        methods = "eagle, eagle3, draft, ngram, mtp and suffix"
        raise FlagError(f"--profile {text}: there is no method {word!r}: use one of {methods}")
    lookahead = _lookahead(text, count) if count or method is not Method.SUFFIX else None
    if method is Method.DRAFT_MODEL and not model:
        raise FlagError(
            f"--profile {text}: a draft model has a name: such as draft:{lookahead}:"
            "meta-llama/Llama-3.2-1B"
        )
    if model and method in (Method.NGRAM, Method.SUFFIX):
        raise FlagError(f"--profile {text}: {word} drafts from the text itself: remove {model}")
    usual = word.casefold() + (f"-{lookahead}" if lookahead is not None else "")
    return Profile(
        name=name or usual,
        method=method,
        model=model or None,
        num_speculative_tokens=lookahead,
    )


def _lookahead(text: str, count: str) -> int:
    if not (count.isascii() and count.isdecimal() and 1 <= int(count[:9]) <= MAX_LOOKAHEAD):
        raise FlagError(
            f"--profile {text}: lookahead {count!r} is not a whole number from 1 to "
            f"{MAX_LOOKAHEAD}: {_FORM}"
        )
    return int(count)


def _named(text: str) -> tuple[str, str]:
    """Split `NAME=REST`; the name is empty where there is none."""
    found = _NAMED.fullmatch(text)
    return (found["name"] or "", found["rest"]) if found else ("", text)


def acceptance_of_flags(
    texts: Sequence[str], profiles: Sequence[Profile]
) -> dict[str, tuple[float, ...]]:
    """Return the rates by position that `--acceptance` states, by profile.

    Raises:
        FlagError: Rates cannot be read, or no profile has the name.
    """
    found: dict[str, tuple[float, ...]] = {}
    speculating = [each for each in profiles if each.method.speculates]
    for text in texts:
        name, rest = _named(text)
        meant = [each for each in speculating if name in ("", each.name)]
        if not meant:
            names = ", ".join(each.name for each in speculating)
            raise FlagError(f"--acceptance {text}: no profile {name!r} speculates: use {names}")
        for each in meant:
            found[each.name] = _rates(text, rest, each)
    return found


def _rates(text: str, told: str, profile: Profile) -> tuple[float, ...]:
    numbers = [_finite(each) for each in told.split(",")]
    known = [each for each in numbers if each is not None]
    lookahead = profile.num_speculative_tokens
    if len(known) < len(numbers) or min(known) < 0:
        raise FlagError(f"--acceptance {text}: {_RATES}")
    if len(known) == 1 and known[0] > 1:
        if lookahead is None or known[0] > lookahead + 1:
            most = "not known" if lookahead is None else f"at most {lookahead + 1}"
            raise FlagError(
                f"--acceptance {text}: the acceptance length of {profile.name} is {most}: {_RATES}"
            )
        return rates_from_length(known[0], lookahead)
    if max(known) > 1 or sorted(known, reverse=True) != known:
        raise FlagError(
            f"--acceptance {text}: the share of steps in which the first i drafts are accepted is "
            f"at most 1 and never rises: {_RATES}"
        )
    return tuple(known)


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def check_accelerator(name: str, catalogue: Catalogue) -> None:
    """Refuse a GPU that nobody knows.

    Raises:
        FlagError: The catalogue has none of that name.
    """
    if catalogue.named(name) is not None:
        return
    close = _like(name, catalogue.names)
    raise FlagError(
        f"--accelerator {name}: the catalogue has no such GPU{close}; it has "
        f"{', '.join(catalogue.names)}; describe another in an AcceleratorProfile and give that "
        "with --file"
    )


def check_model(name: str) -> None:
    """Refuse a model that nobody knows.

    Raises:
        FlagError: The catalogue has none of that name.
    """
    if load_models().find(name) is not None:
        return
    close = nearest(name)
    like = f" (names that look like it: {', '.join(close)})" if close else ""
    raise FlagError(
        f"--model {name}: the catalogue has no such model{like}; name one of the same shape, or "
        "give a serving with spec.model.shape by --file"
    )


def check_number(option: str, value: float | None, *, least: float, most: float) -> None:
    """Refuse a number out of reason.

    Raises:
        FlagError: It is not finite, or out of its bounds.
    """
    if value is not None and not (math.isfinite(value) and least <= value <= most):
        raise FlagError(f"{option} {value}: give {least:g} to {most:g}")


def check_version(version: str | None) -> None:
    """Refuse what is no version.

    Raises:
        FlagError: It is not written as vLLM writes its versions.
    """
    if version is not None and not re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?", version):
        raise FlagError(f"--engine-version {version}: write it as 0.24.0")


def _like(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name.casefold(), list(names), n=3, cutoff=0.5)
    return f" (names that look like it: {', '.join(close)})" if close else ""
