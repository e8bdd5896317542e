"""How a container gets its speculative config: what its command line and environment say."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ridgeline.engine.args_expand import expanded
from ridgeline.engine.args_mentions import SHELL, Mention, Script, mentions, script_of
from ridgeline.engine.args_reading import NOTHING
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, parse
from ridgeline.terms.names import PROFILE_ENV

_KUBERNETES_REFERENCE: Final = f"$({PROFILE_ENV})"
_EXPANDED: Final = re.compile(rf"(?<!\$)(?:\$\$)*\$\({PROFILE_ENV}\)")
"""`$(NAME)` as the kubelet expands it: `$$` is an escaped dollar sign."""

_SHELL_REFERENCE: Final = re.compile(rf"\$(?:\{{{PROFILE_ENV}\b|{PROFILE_ENV}\b)")
_IN_SCRIPTS: Final = f'${{{PROFILE_ENV}:+--speculative-config "${PROFILE_ENV}"}}'
"""What a launcher writes for the flag: none without a profile, and its value in quotes with one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvItem:
    """One item of a container's `env`; `value` is `None` when it comes from elsewhere."""

    name: str
    value: str | None
    from_elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The parts of a container that decide its speculative config."""

    name: str
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvItem, ...] = ()
    has_env_from: bool = False
    image: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """Command and arguments in one row."""
        return self.command + self.args


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionPoint:
    """Where and with which value a container reads the profile's env item.

    Attributes:
        text: The speculative config in force; empty for none.
        set_by_item: Whether an `env` item carries it (else the default of `envFrom` or the shell).
    """

    text: str
    set_by_item: bool


class InjectionPointError(ValueError):
    """The container does not read the env item, or reads it without a default."""


def injection_point(container: Container) -> InjectionPoint:
    """Tell which speculative config a container takes from the env item.

    Without an `env` item the default applies, which is the empty value by the contract of the
    Env injection (a ConfigMap in `envFrom`, or a shell launcher that leaves the flag out).

    Raises:
        InjectionPointError: The container cannot take a profile from the env item.
        InvalidSpeculativeConfigError: Its own flag, or the item, carries something else than JSON.
    """
    # Of two items of one name the kubelet takes the last.
    item = next((each for each in reversed(container.env) if each.name == PROFILE_ENV), None)
    by_kubelet = any(_EXPANDED.search(word) for word in container.words)
    if not by_kubelet and not _read_by_shell(container):
        raise InjectionPointError(_missing_reference(container))
    _refuse_second_flag(container)
    if item is not None and item.from_elsewhere:
        raise InjectionPointError(
            f"container {container.name!r} takes {PROFILE_ENV} from a valueFrom; "
            f"remove that env item and give the default through envFrom"
        )
    if item is None and by_kubelet and not container.has_env_from:
        raise InjectionPointError(
            f"container {container.name!r} reads {_KUBERNETES_REFERENCE}, but nothing gives it a "
            f'default: add envFrom with a ConfigMap that holds {PROFILE_ENV}: ""'
        )
    text = item.value or "" if item is not None else ""
    parse(text)
    return InjectionPoint(text=text, set_by_item=item is not None)


def known_environment(container: Container) -> Mapping[str, str]:
    """Return the variables whose values `env` tells, as the kubelet expands them.

    Those of `envFrom` and `valueFrom` are not known.
    """
    known: dict[str, str] = {}
    for item in container.env:
        if item.from_elsewhere:
            known.pop(item.name, None)
        else:
            known[item.name] = expanded(item.value or "", known)
    return known


def own_flag_value(container: Container) -> str | None:
    """Return the literal value of the container's own speculative-config flag, if it has one.

    A flag that takes its value from the env item is not the container's own. Of a flag that sets
    one key (`--speculative-config.method eagle`, `--spec-method eagle`) the value is returned as a
    JSON object.
    """
    words = container.words
    for each in mentions(words, NOTHING):
        if not is_reference(words[each.first + each.words - 1]):
            return _literal(each)
    return None


def is_reference(word: str) -> bool:
    """Tell whether a word takes the profile's variable in, by the kubelet or by a shell."""
    return bool(_EXPANDED.search(word) or _SHELL_REFERENCE.search(word))


def _literal(mention: Mention) -> str:
    value = mention.value or ""
    return json.dumps({".".join(mention.keys): value}) if mention.keys else value


def _read_by_shell(container: Container) -> bool:
    """Tell whether a shell reads the env item: without one `$NAME` reaches vLLM as it stands."""
    has_shell = any(SHELL.match(word) for word in container.words)
    return any(
        _SHELL_REFERENCE.search(word) and (has_shell or re.search(r"\s", word))
        for word in container.words
    )


def _refuse_second_flag(container: Container) -> None:
    literal = own_flag_value(container)
    if literal is not None:
        raise InjectionPointError(
            f"container {container.name!r} reads {PROFILE_ENV} and has a --speculative-config "
            f"of its own as well ({literal!r:.80}), and the last of the two wins: remove its own"
        )
    script = script_of(container.words)
    own = next(_own_in_script(script), None) if script is not None else None
    if own is not None:
        raise InjectionPointError(
            f"the script of container {container.name!r} reads {PROFILE_ENV} and writes "
            f"{own.name} of its own as well ({own.value!r:.80}), and scripts are not edited: "
            f"remove its own"
        )


def _own_in_script(script: Script) -> Iterator[Mention]:
    for each in script.mentions:
        if not is_reference(each.value or ""):
            yield each


def _missing_reference(container: Container) -> str:
    literal = own_flag_value(container)
    if literal is not None:
        try:
            parse(literal)
        except InvalidSpeculativeConfigError as error:
            raise InvalidSpeculativeConfigError(
                f"container {container.name!r} has its own --speculative-config: {error}; "
                f"write --speculative-config={_KUBERNETES_REFERENCE} instead"
            ) from error
        return (
            f"container {container.name!r} has its own --speculative-config, which the operator "
            f"does not touch; write --speculative-config={_KUBERNETES_REFERENCE} instead, "
            f'with an envFrom ConfigMap that holds {PROFILE_ENV}: ""'
        )
    script = script_of(container.words)
    if script is not None:
        place = f" in place of {script.mentions[0].name}" if script.mentions else ""
        return (
            f"container {container.name!r} does not read {PROFILE_ENV} in the script that a "
            f"shell runs, and ridgeline edits no scripts; write {_IN_SCRIPTS} there{place}"
        )
    if any(_SHELL_REFERENCE.search(word) for word in container.words):
        return (
            f"container {container.name!r} writes ${PROFILE_ENV} where no shell expands it; "
            f"write {_KUBERNETES_REFERENCE} instead"
        )
    return (
        f"container {container.name!r} does not read {PROFILE_ENV}; add "
        f'"--speculative-config={_KUBERNETES_REFERENCE}" to its args and an envFrom ConfigMap '
        f'that holds {PROFILE_ENV}: ""'
    )
