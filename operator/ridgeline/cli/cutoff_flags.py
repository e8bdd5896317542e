"""Facts of a target as a person writes them on a command line."""

import difflib
import math
import os
import re
from collections.abc import Iterable, Sequence
from typing import Final

from ridgeline.api.fields import LABEL_LENGTH
from ridgeline.api.profiles import MAX_LOOKAHEAD, MAX_PROFILES
from ridgeline.costmodel.acceptance import rates_from_length
from ridgeline.engine.speculative_config import Profile
from ridgeline.settings.accelerators import Catalogue
from ridgeline.settings.advise_gpu import family_of
from ridgeline.settings.models import load_models, nearest
from ridgeline.terms.methods import Method


class FlagError(ValueError):
    """An option holds what it must not; the message names it, its value and what to write."""


METHODS: Final = {
    "eagle": Method.EAGLE,
    "eagle2": Method.EAGLE,
    "eagle3": Method.EAGLE3,
    "draft": Method.DRAFT_MODEL,
    "draftmodel": Method.DRAFT_MODEL,
    "ngram": Method.NGRAM,
    "mtp": Method.MTP,
    "suffix": Method.SUFFIX,
}
"""Methods by how people type them, without dashes."""

_FORM: Final = "write it as METHOD:K or METHOD:K:MODEL, such as eagle3:3"
_RATES: Final = (
    "give a rate for each position such as 0.7,0.5,0.3, one rate per token such as 0.7, or an "
    "acceptance length such as 2.4"
)
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_OBJECT_NAME: Final = re.compile(rf"{_NAME.pattern}(?:\.{_NAME.pattern})*")
_LONGEST_NAME: Final = 253
_VERSION: Final = re.compile(r"[vV]?([0-9]{1,4}\.[0-9]{1,4}(?:\.[0-9]{1,4})?)")
_OFF: Final = ("none", "disabled", "off")


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
    name, rest = _named("--profile", text)
    word, _, more = rest.partition(":")
    count, _, model = more.partition(":")
    if word.casefold() in _OFF:
        raise FlagError(
            f"--profile {text}: the profile without speculation is added by itself: leave it out"
        )
    method = METHODS.get(word.casefold().replace("-", "").replace("_", ""))
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


def _named(option: str, text: str) -> tuple[str, str]:
    """Split `NAME=REST`; the name is empty where there is none."""
    name, equals, rest = text.partition("=")
    if not equals or ":" in name:
        return "", text
    if not _NAME.fullmatch(name):
        raise FlagError(
            f"{option} {text}: {name!r} is no name of a profile: use small letters, digits and "
            "dashes, no dash at the ends"
        )
    return name, rest


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
        name, rest = _named("--acceptance", text)
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
    _refuse_unclear(text, known, profile)
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


def _refuse_unclear(text: str, numbers: Sequence[float], profile: Profile) -> None:
    """Refuse a 1, which may be a rate or a length, and a list that leaves a position out."""
    lookahead = profile.num_speculative_tokens
    if list(numbers) == [1.0]:
        every = "1,1" if lookahead is None else f"{lookahead + 1}"
        raise FlagError(
            f"--acceptance {text}: a rate of 1 (every draft is accepted) and an acceptance length "
            f"of 1 (none is) look alike: for {profile.name} write {every} for every draft, 0 for "
            "none"
        )
    if lookahead is not None and len(numbers) not in (1, lookahead):
        raise FlagError(
            f"--acceptance {text}: {profile.name} drafts {_some(lookahead, 'token')} and "
            f"{_some(len(numbers), 'rate')} are given: give one for each position, with "
            f"{profile.name}= before them where profiles differ, or one rate per token"
        )


def _some(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


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
    family = family_of(name, catalogue)
    if family:
        raise FlagError(
            f"--accelerator {name} is a family of GPUs: name the one, of {', '.join(family)}"
        )
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
    if name.endswith(".json") or os.path.isdir(name):
        raise FlagError(
            f"--model {name}: only ridgeline advise reads a file here: put what `ridgeline model "
            f"describe {name}` prints below spec of a serving, and give that with --file"
        )
    close = nearest(name)
    like = f" (names that look like it: {', '.join(close)})" if close else ""
    raise FlagError(
        f"--model {name}: the catalogue has no such model{like}; name one of the same shape, or "
        "give a serving with spec.model.shape by --file"
    )


def check_label(option: str, name: str | None) -> None:
    """Refuse a name that Kubernetes takes for no namespace and no Job.

    Raises:
        FlagError: It is no DNS label.
    """
    if name is not None and (len(name) > LABEL_LENGTH or not _NAME.fullmatch(name)):
        raise FlagError(
            f"{option} {name!r}: use small letters, digits and dashes, no dash at the ends, at "
            f"most {LABEL_LENGTH} characters"
        )


def check_object_name(option: str, name: str | None) -> None:
    """Refuse a name that Kubernetes takes for no Deployment, Secret or claim.

    Raises:
        FlagError: It is no DNS subdomain.
    """
    if name is not None and (len(name) > _LONGEST_NAME or not _OBJECT_NAME.fullmatch(name)):
        raise FlagError(
            f"{option} {name!r}: use small letters, digits, dashes and dots, letters or digits "
            f"at the ends and beside dots, at most {_LONGEST_NAME} characters"
        )


def check_number(option: str, value: float | None, *, least: float, most: float) -> None:
    """Refuse a number out of reason.

    Raises:
        FlagError: It is not finite, or out of its bounds.
    """
    if value is not None and not (math.isfinite(value) and least <= value <= most):
        raise FlagError(f"{option} {value}: give {least:g} to {most:g}")


def version_of_flag(text: str | None, option: str = "--engine-version") -> str | None:
    """Return a version of vLLM without the `v` of its tags and images; `None` for none.

    Raises:
        FlagError: It is not written as vLLM writes its versions.
    """
    found = None if text is None else _VERSION.fullmatch(text.strip())
    if text is not None and found is None:
        raise FlagError(f"{option} {text}: write it as 0.24.0")
    return None if found is None else found[1]


def _like(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name.casefold(), list(names), n=3, cutoff=0.5)
    return f" (names that look like it: {', '.join(close)})" if close else ""
