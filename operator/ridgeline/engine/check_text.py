"""The text of `--speculative-config` as a container hands it over, before anything is parsed.

vLLM ends with exit status 2 and a usage message on any text that is not JSON.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from ridgeline.engine.check_subject import CONFIG_FLAG
from ridgeline.engine.contract import EngineContract
from ridgeline.engine.findings import Finding, Severity, shown

_NONE: Final = "None"
"""Releases that take an empty value for none take this word for it, too."""

_UNEXPANDED: Final = re.compile(r"\$\(\w+\)|\$\{?\w+\}?")
_TEMPLATE: Final = re.compile(r"\{\{.*\}\}", re.DOTALL)


def check_text(text: str, contract: EngineContract) -> Iterator[Finding]:
    """Yield why a text is no speculative config; nothing when it is one, or means none."""
    if text == _NONE and contract.empty_config_is_off:
        return
    if not text.strip():
        yield from _empty(text, contract)
        return
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        yield _not_json(text, contract)
        return
    if config is not None and not isinstance(config, dict):
        what = "a JSON text inside a JSON text" if isinstance(config, str) else "JSON, no object"
        yield _finding("ConfigNotObject", text, f"it is {what}: the start stops", _HOW_TO_WRITE)
    elif config == {}:
        yield _finding(
            "ConfigEmptyObject",
            text,
            "the start stops: an object without keys is a config that names nothing",
            "leave the value empty for no speculation",
        )


_HOW_TO_WRITE: Final = (
    "pass the object as it is in one element of args, such as "
    '--speculative-config={"method":"ngram","num_speculative_tokens":3}'
)


def _empty(text: str, contract: EngineContract) -> Iterator[Finding]:
    if not text and contract.empty_config_is_off:
        return
    if text:
        yield _finding(
            "ConfigBlank",
            text,
            "vLLM reads a blank as broken JSON: the start stops",
            "leave the value empty for no speculation",
        )
        return
    yield _finding(
        "ConfigEmpty",
        text,
        f"vLLM {contract.version} takes an empty value for broken JSON (usage error)",
        "use vLLM 0.10.1 or newer, or a launcher that leaves the flag out",
    )


def _not_json(text: str, contract: EngineContract) -> Finding:
    consequence = f"vLLM {contract.version} ends with a usage error: it is not JSON"
    return _finding("ConfigNotJson", text, consequence, _way_out(text.strip()))


def _way_out(text: str) -> str:
    if _UNEXPANDED.fullmatch(text):
        return "nothing expanded the variable: define it in env or envFrom of the same container"
    if text[0] in "'\"" and text[-1] == text[0]:
        return f"remove the quotes around the object: no shell takes them off; {_HOW_TO_WRITE}"
    if '\\"' in text or "\\{" in text:
        return f"remove the backslashes: no shell takes them off; {_HOW_TO_WRITE}"
    if _TEMPLATE.fullmatch(text):
        return "write single braces: a template left two of them, or was not rendered"
    if '""' in text:
        return f"write each quote once: a template doubled them; {_HOW_TO_WRITE}"
    if text.startswith("{") and '"' not in text:
        return f"keep the quotes inside: a shell or template took them off; {_HOW_TO_WRITE}"
    return _HOW_TO_WRITE


def _finding(check: str, text: str, consequence: str, fix: str) -> Finding:
    return Finding(
        check=check,
        flag=CONFIG_FLAG,
        value=shown(text),
        consequence=consequence,
        fix=fix,
        severity=Severity.ERROR,
    )
