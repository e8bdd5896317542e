"""What a container's own command line says of speculation, in whatever spelling."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from ridgeline.cli.lint_around import IMAGE, Release
from ridgeline.cli.lint_containers import Server
from ridgeline.engine.args_mentions import Mention, Part, mentions, script_of
from ridgeline.engine.args_reading import ArgsError, config_of_mentions
from ridgeline.engine.check_subject import CONFIG_FLAG
from ridgeline.engine.check_text import check_text
from ridgeline.engine.container import known_environment
from ridgeline.engine.contract import EngineContract
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, LoadsCodeError
from ridgeline.engine.spelling_quotes import on_one_line, repair
from ridgeline.settings.preflight import Around
from ridgeline.settings.preflight_config import findings_of_config
from ridgeline.terms.names import PROFILE_ENV

_SAID_ANYWAY: Final = frozenset({"FlagUnknown"})
"""Checks whose finding an `ArgsError` tells once more."""


def own_findings(server: Server, release: Release, around: Around) -> tuple[Finding, ...]:
    """Return what is wrong with what a command line itself says; nothing where it says nothing.

    A value that comes from the profile's variable is not its own. The script of a shell is split
    into words and judged as far as that goes.
    """
    script = script_of(server.container.words)
    scripted = script is not None and bool(script.mentions)
    found = script.mentions if script is not None and scripted else _of_words(server)
    own = [each for each in found if not _is_reference(each)]
    told = tuple(_about_script(own)) if scripted else ()
    if script is not None and scripted:
        own = [each for each in own if not _from_variable(each, script.text)]
    texts = tuple(each for mention in own for each in _text(mention, release.contract))
    if texts:
        return (*told, *texts)
    read = _read(server, own, release, around)
    if scripted and script is not None:
        read = tuple(each for each in read if not _expanded_by_shell(each, script.text))
    return (*told, *read)


def speaks_of_speculation(server: Server) -> bool:
    """Tell whether a command line has to do with speculation at all."""
    words = server.container.words
    script = script_of(words)
    return (
        bool(mentions(words, {}))
        or (script is not None and bool(script.mentions))
        or any(PROFILE_ENV in word for word in words)
        or any(each.name == PROFILE_ENV for each in server.written.env)
    )


def _of_words(server: Server) -> tuple[Mention, ...]:
    """Return the mentions of a command line; the profile's variable counts as not known."""
    known = known_environment(server.container)
    environment = {name: value for name, value in known.items() if name != PROFILE_ENV}
    return mentions(server.container.words, environment)


def _is_reference(mention: Mention) -> bool:
    value = mention.value or ""
    return PROFILE_ENV in mention.unknown or f"${PROFILE_ENV}" in value.replace("{", "")


def _from_variable(mention: Mention, script: str) -> bool:
    """Tell whether a script's shell puts a value together that is no config as it stands."""
    value = mention.value or ""
    if mention.part is not Part.WHOLE or not _expands(script):
        return False
    return "$" in value and not value.lstrip().startswith("{")


def _about_script(own: Sequence[Mention]) -> Iterator[Finding]:
    if own:
        yield Finding(
            check="ShellScript",
            flag=own[0].name,
            value="",
            consequence="it stands in the script of a shell, which ridgeline reads as far as it "
            "can be split into words, and never edits",
            fix=f"pass it as an argument of its own, or write ${{{PROFILE_ENV}:+{CONFIG_FLAG} "
            f'"${PROFILE_ENV}"}} there and make it a profile',
            severity=Severity.WARNING,
        )


def _text(mention: Mention, contract: EngineContract) -> Iterator[Finding]:
    """Yield why a whole config is none, with the text that was meant."""
    if mention.part is not Part.WHOLE or mention.value is None or mention.unknown:
        return
    for each in check_text(mention.value, contract):
        meant = repair(mention.value)
        if meant is None:
            yield each
        else:
            yield replace(each, fix=f"{meant.what}: write {on_one_line(meant.text, limit=400)}")


def _read(
    server: Server, own: Sequence[Mention], release: Release, around: Around
) -> tuple[Finding, ...]:
    try:
        config = config_of_mentions(own, release.contract)
    except LoadsCodeError as error:
        return (_refused("LoadsCode", own, str(error)),)
    except (ArgsError, InvalidSpeculativeConfigError) as error:
        told = findings_of_config(server.container, None, release.contract, around)
        about_flags = tuple(each for each in told if each.check in _SAID_ANYWAY)
        rest = tuple(each for each in told if each.check not in _SAID_ANYWAY)
        return (*(about_flags or (_refused("CommandLine", own, str(error)),)), *rest)
    return findings_of_config(server.container, config, release.contract, around)


def _refused(check: str, own: Sequence[Mention], message: str) -> Finding:
    consequence, _, fix = message.rpartition("; ")
    return Finding(
        check=check,
        flag=own[0].name if own else CONFIG_FLAG,
        value=on_one_line(own[0].value) if own and own[0].value else "",
        consequence=consequence or message,
        fix=fix if consequence else "correct it",
        severity=Severity.ERROR,
    )


def _expanded_by_shell(finding: Finding, script: str) -> bool:
    """Tell whether a finding is about a variable that the script's shell does expand."""
    return finding.check == "VariableNotExpanded" and _expands(script)


def _expands(script: str) -> bool:
    """Tell whether a script keeps no variable from its shell by single quotes."""
    return not any("$" in part for part in _in_single_quotes(script))


def _in_single_quotes(script: str) -> Iterator[str]:
    """Yield what stands in single quotes, those inside double quotes left out."""
    quote, start = "", 0
    for index, sign in enumerate(script):
        escaped = quote != "'" and index > 0 and script[index - 1] == "\\"
        if escaped or sign not in "'\"":
            continue
        if not quote:
            quote, start = sign, index + 1
        elif sign == quote:
            if quote == "'":
                yield script[start:index]
            quote = ""


def about_release(finding: Finding) -> bool:
    """Tell whether a finding is about the release alone."""
    return finding.flag == IMAGE
