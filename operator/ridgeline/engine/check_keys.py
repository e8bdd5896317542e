"""Keys and values of a speculative config against what the release accepts."""

import difflib
import math
import re
from collections.abc import Iterator
from typing import Final

from ridgeline.engine.check_subject import LOOKAHEAD, SCHEDULE, Subject, key_finding
from ridgeline.engine.contract import (
    Honoured,
    KeyContract,
    KeyType,
    KeyUse,
    UnknownKeys,
    runs_named_class,
)
from ridgeline.engine.findings import Finding, Severity

_LIKENESS: Final = 0.8
_SHELL_VARIABLE: Final = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})")
_LOSSY: Final = frozenset({"synthetic", "fly"})
_SERVING_ACCEPTANCE: Final = ("rejection_sample_method", "acceptance_method")


def check_keys(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with each key of the config by itself."""
    for name, value in subject.keys.items():
        key = subject.contract.keys.get(name)
        if name == "disable_by_batch_size" and _without_effect(subject):
            yield _by_batch_size(subject, value)
        elif key is None:
            yield _unknown(subject, name, value)
        else:
            yield from _use(subject, key, value)
        if key is not None and value is not None:
            yield from _value(subject, key, value)
            yield from _of_other_method(subject, key, value)


def check_expanded(subject: Subject) -> Iterator[Finding]:
    """Yield texts that name a variable which only a shell would have expanded."""
    for name, value in subject.keys.items():
        if isinstance(value, str) and _SHELL_VARIABLE.search(value):
            yield key_finding(
                check="VariableNotExpanded",
                key=name,
                value=value,
                consequence="vLLM takes the variable's name for the value: single quotes keep a "
                "shell from expanding it, and without a shell nothing does",
                fix="write the value, or $(NAME) for a variable of the same container",
                severity=Severity.WARNING,
            )


def check_method(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the method, or with a model that takes its place."""
    contract, value = subject.contract, subject.keys.get("method")
    method = value if isinstance(value, str) else None
    model = subject.keys.get("model")
    named = model if isinstance(model, str) else None
    if runs_named_class(contract, method=method, model=named):
        yield key_finding(
            check="RunsNamedClass",
            key="method" if method == "custom_class" else "model",
            value=method if method == "custom_class" else named,
            consequence=f"{subject.release} imports the class of that name and runs it",
            fix="name a method that vLLM brings along, and a model with its organisation or path",
            severity=Severity.ERROR,
        )
    elif method in contract.not_implemented:
        yield key_finding(
            check="MethodNotImplemented",
            key="method",
            value=method,
            consequence=f"{subject.release} accepts the name and stops the start "
            "(NotImplementedError)",
            fix=f"choose one of {_listed(_served(subject))}",
            severity=Severity.ERROR,
        )
    elif method is not None and method not in contract.method_names:
        near = difflib.get_close_matches(method, sorted(contract.method_names), 1, _LIKENESS)
        yield key_finding(
            check="MethodUnknown",
            key="method",
            value=method,
            consequence=f"{subject.release} has no such method and "
            + ("stops the start" if contract.checks_types else "guesses one from the model"),
            fix=f"write {near[0]!r}" if near else f"choose one of {_listed(_served(subject))}",
            severity=Severity.ERROR,
        )


def _without_effect(subject: Subject) -> bool:
    return subject.contract.disable_by_batch_size is not Honoured.WORKS


def _by_batch_size(subject: Subject, value: object) -> Finding:
    refused = subject.contract.disable_by_batch_size is Honoured.REFUSED
    scheduled = subject.contract.honours_schedule
    happens = "stops the start: the key is gone" if refused else "takes the key and ignores it"
    outer = "only a roll to the profile without speculation helps under load"
    return key_finding(
        check="DisableByBatchSize",
        key="disable_by_batch_size",
        value=value,
        consequence=f"{subject.release} {happens}",
        fix=f"write {SCHEDULE} instead" if scheduled else f"remove it: {outer}",
        severity=Severity.ERROR if refused else Severity.WARNING,
    )


def _unknown(subject: Subject, name: str, value: object) -> Finding:
    contract = subject.contract
    refused = contract.unknown_keys is UnknownKeys.REFUSED
    near = difflib.get_close_matches(name.replace("-", "_"), sorted(contract.keys), 1, _LIKENESS)
    happens = "stops the start" if refused else "ignores it in silence"
    return key_finding(
        check="KeyUnknown",
        key=name,
        value=value,
        consequence=f"{subject.release} does not know the key and {happens}",
        fix=f"write {near[0]!r}" if near else "remove it",
        severity=Severity.ERROR if refused or near else Severity.WARNING,
    )


def _value(subject: Subject, key: KeyContract, value: object) -> Iterator[Finding]:
    problem = type_problem(key, value)
    if problem is None and key.name != LOOKAHEAD:
        problem = range_problem(key, value)
    if problem is not None:
        yield key_finding(
            check="KeyValue",
            key=key.name,
            value=value,
            consequence=f"{subject.release} expects {problem}",
            fix=f"correct it ({key.about})",
            severity=Severity.ERROR,
        )
    elif key.name in _SERVING_ACCEPTANCE and value in _LOSSY | {"typical_acceptance_sampler"}:
        yield key_finding(
            check="AnswersChanged",
            key=key.name,
            value=value,
            consequence="the server accepts drafts that the target would not have written, so its "
            "answers change",
            fix="remove it, except to measure step times",
            severity=Severity.WARNING,
        )


def _of_other_method(subject: Subject, key: KeyContract, value: object) -> Iterator[Finding]:
    if key.methods and subject.method and subject.method not in key.methods:
        yield key_finding(
            check="KeyOfOtherMethod",
            key=key.name,
            value=value,
            consequence=f"{subject.release} stops the start or ignores it: it goes with "
            f"{_listed(list(key.methods))} alone",
            fix="remove it",
            severity=Severity.ERROR,
        )


_SYNTHETIC: Final = ("synthetic_acceptance_rates", "synthetic_acceptance_length")


def check_synthetic(subject: Subject) -> Iterator[Finding]:
    """Yield that synthetic acceptance is asked for and not described, or the other way round."""
    if not subject.contract.keys.keys() >= set(_SYNTHETIC):
        return
    told = [name for name in _SYNTHETIC if subject.keys.get(name) is not None]
    asked = subject.keys.get("rejection_sample_method")
    if asked == "synthetic" and len(told) != 1:
        yield key_finding(
            check="SyntheticAcceptance",
            key="rejection_sample_method",
            value=asked,
            consequence=f"{subject.release} stops the start: it wants exactly one of "
            f"{' and '.join(_SYNTHETIC)}",
            fix="write one of the two, to measure step times; else remove it",
            severity=Severity.ERROR,
        )
    elif told and asked != "synthetic":
        yield key_finding(
            check="SyntheticAcceptance",
            key=told[0],
            value=subject.keys[told[0]],
            consequence=f"{subject.release} stops the start: it is for rejection_sample_method "
            "synthetic alone",
            fix="remove it",
            severity=Severity.ERROR,
        )


_USES: Final = {
    KeyUse.INTERNAL: (
        "KeyInternal",
        "vLLM fills this key by itself and a value breaks the start",
        Severity.ERROR,
    ),
    KeyUse.LOADS_CODE: (
        "KeyLoadsCode",
        "it lets whoever edits this config run code in the server",
        Severity.ERROR,
    ),
    KeyUse.NO_EFFECT: (
        "KeyWithoutEffect",
        "the key is accepted and nothing reads it",
        Severity.WARNING,
    ),
}


def _use(subject: Subject, key: KeyContract, value: object) -> Iterator[Finding]:
    told = _USES.get(key.use)
    if told is not None and value is not None:
        check, consequence, severity = told
        meant = key.name == "tensor_parallel_size"
        yield key_finding(
            check=check,
            key=key.name,
            value=value,
            consequence=f"{subject.release}: {consequence}",
            fix="write draft_tensor_parallel_size" if meant else "remove it",
            severity=severity,
        )


def type_problem(key: KeyContract, value: object) -> str | None:
    """Return what a value should have been, `None` when its type is right."""
    if key.type is KeyType.TABLE:
        return None
    right, name = {
        KeyType.TEXT: (isinstance(value, str), "a text"),
        KeyType.WHOLE: (_whole(value), "a whole number"),
        KeyType.NUMBER: (_number(value), "a number"),
        KeyType.SWITCH: (isinstance(value, bool), "true or false"),
        KeyType.NUMBERS: (_numbers(value), "a list of numbers"),
        KeyType.OBJECT: (isinstance(value, dict), "an object"),
    }[key.type]
    return None if right else f"{name} here"


def range_problem(key: KeyContract, value: object) -> str | None:
    """Return the range that a value of the right type is outside of, `None` when it is inside."""
    if key.choices and value not in key.choices:
        return f"one of {', '.join(key.choices)} here"
    numbers = [each for each in _each(value) if isinstance(each, int | float)]
    if any(key.minimum is not None and each < key.minimum for each in numbers):
        return f"at least {key.minimum:g} here"
    if any(key.maximum is not None and each > key.maximum for each in numbers):
        return f"at most {key.maximum:g} here"
    return None


def _each(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: object) -> bool:
    return _whole(value) or (isinstance(value, float) and math.isfinite(value))


def _numbers(value: object) -> bool:
    return isinstance(value, list) and all(map(_number, value))


def _served(subject: Subject) -> list[str]:
    """Return names of methods to offer: those of profiles, in the release's own names."""
    contract = subject.contract
    usual = ("eagle", "eagle3", "draft_model", "ngram", "mtp", "suffix")
    served = contract.method_names - contract.not_implemented
    return [name for name in usual if name in served]


def _listed(names: list[str]) -> str:
    return ", ".join(names)
