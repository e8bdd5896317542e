"""Lookahead K: told where it must be, inside what sampler and head work with."""

from collections.abc import Iterator
from typing import Final

from ridgeline.engine.check_subject import LOOKAHEAD, Subject, key_finding
from ridgeline.engine.findings import Finding, Severity

_FROM_CHECKPOINT: Final = frozenset({"mtp", "suffix"})
"""Methods that find a K by themselves: the checkpoint's MTP layers, the tree's depth."""

_WITHOUT_MTP: Final = frozenset({"llama", "mistral", "mixtral", "gemma2", "gemma3_text", "gpt_oss"})
"""Model types of which no release up to 0.33 has MTP layers (the families of its method names)."""

_WANTS_MODEL: Final = frozenset({"eagle", "eagle3", "draft_model"})


def check_lookahead(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with K."""
    if subject.config is None:
        return
    if subject.keys.get(LOOKAHEAD) is None:
        yield from _missing(subject)
    elif subject.lookahead is not None:
        yield from _range(subject, subject.lookahead)
        yield from _head(subject, subject.lookahead)


def check_model_named(subject: Subject) -> Iterator[Finding]:
    """Yield that a method which drafts with a model names none, or that nothing names either."""
    if subject.config is None or subject.keys.get("model"):
        return
    if subject.method in _WANTS_MODEL:
        yield key_finding(
            check="ModelMissing",
            key="model",
            value=None,
            consequence=f"{subject.release} has nothing to draft with and stops the start",
            fix=f"name the head or draft model of method {subject.method}",
            severity=Severity.ERROR,
        )
    elif not subject.method and not (subject.target is not None and subject.target.mtp_layers):
        # Releases find MTP out by themselves where the checkpoint has it and K is told.
        perhaps_mtp = subject.target is None and subject.lookahead is not None
        yield key_finding(
            check="MethodMissing",
            key="method",
            value=None,
            consequence=f"{subject.release} cannot tell how to draft and stops the start"
            + (", unless the target has MTP layers" if perhaps_mtp else ""),
            fix="name a method, or leave the config empty for no speculation",
            severity=Severity.WARNING if perhaps_mtp else Severity.ERROR,
        )


def check_lookup(subject: Subject) -> Iterator[Finding]:
    """Yield that the shortest n-gram is longer than the longest."""
    shortest, longest = (subject.keys.get(f"prompt_lookup_{end}") for end in ("min", "max"))
    if isinstance(shortest, int) and isinstance(longest, int) and shortest > longest:
        yield key_finding(
            check="LookupRange",
            key="prompt_lookup_min",
            value=shortest,
            consequence=f"{subject.release} stops the start: prompt_lookup_max is {longest}",
            fix=f"write {longest} or less",
            severity=Severity.ERROR,
        )


def _missing(subject: Subject) -> Iterator[Finding]:
    if subject.method in _FROM_CHECKPOINT or subject.method.endswith("_mtp"):
        return
    yield key_finding(
        check="LookaheadMissing",
        key=LOOKAHEAD,
        value=None,
        consequence=f"{subject.release} stops the start: it must be told how many to draft",
        fix=f"write {LOOKAHEAD}, such as 3",
        severity=Severity.ERROR,
    )


def _range(subject: Subject, lookahead: int) -> Iterator[Finding]:
    highest = subject.contract.max_lookahead
    if lookahead < 1:
        yield key_finding(
            check="LookaheadRange",
            key=LOOKAHEAD,
            value=lookahead,
            consequence=f"{subject.release} expects at least 1 and stops the start",
            fix="leave the whole config empty for no speculation",
            severity=Severity.ERROR,
        )
    elif lookahead > highest:
        yield key_finding(
            check="LookaheadRange",
            key=LOOKAHEAD,
            value=lookahead,
            consequence=f"the sampler of {subject.release} works with at most {highest} and the "
            "server dies at the first longer draft",
            fix=f"write {highest} or less; more than 8 seldom pays",
            severity=Severity.ERROR,
        )


def _head(subject: Subject, lookahead: int) -> Iterator[Finding]:
    draft, target = subject.draft, subject.target
    trained = draft.trained_lookahead if draft is not None else None
    if trained is not None and lookahead > trained:
        yield key_finding(
            check="LookaheadAboveHead",
            key=LOOKAHEAD,
            value=lookahead,
            consequence=f"the head was trained for {trained}: drafts beyond are hardly accepted",
            fix=f"write {trained} or less",
            severity=Severity.WARNING,
        )
    layers = target.mtp_layers if target is not None and subject.method == "mtp" else None
    if target is not None and layers is None and target.model_type in _WITHOUT_MTP:
        layers = 0 if subject.method == "mtp" and not subject.keys.get("model") else None
    if layers == 0:
        yield key_finding(
            check="MtpMissing",
            key="method",
            value="mtp",
            consequence="the checkpoint has no layers for multi-token prediction: the start stops",
            fix="choose another method, or a checkpoint that has them",
            severity=Severity.ERROR,
        )
    elif layers and lookahead > layers and lookahead % layers:
        yield key_finding(
            check="LookaheadNotDivisible",
            key=LOOKAHEAD,
            value=lookahead,
            consequence=f"{subject.release} expects a multiple of the checkpoint's {layers} MTP "
            "layers and stops the start",
            fix=f"write {lookahead // layers * layers}",
            severity=Severity.ERROR,
        )
