"""Head and draft model against the target, from both `config.json`; nothing unknown is judged."""

from collections.abc import Iterator
from typing import Final

from ridgeline.engine.check_subject import CheckedModel, Subject, key_finding
from ridgeline.engine.findings import Finding, Severity

_MAPPING: Final = "use_heterogeneous_vocab"
_HEADS: Final = frozenset({"eagle", "eagle3"})
_PADDING: Final = 1024
"""Publishers pad a vocabulary to a multiple of up to this many tokens for one size of a family and
not for another (Qwen2.5: 151936 up to 7B, 152064 above)."""


def check_models(subject: Subject) -> Iterator[Finding]:
    """Yield where head or draft model and target do not go together."""
    target, draft = subject.target, subject.draft
    if target is not None:
        yield from _speculators_target(subject, target)
        yield from _eagle3_target(subject, target)
    if target is None or draft is None or subject.config is None:
        return
    yield from _vocabulary(subject, target, draft)
    yield from _hidden(subject, target, draft)
    yield from _speculators_head(subject, draft)


def _speculators_target(subject: Subject, target: CheckedModel) -> Iterator[Finding]:
    starts_by_itself = target.speculators and subject.contract.speculators_checkpoint
    if starts_by_itself and subject.config is None:
        yield Finding(
            check="SpeculatorsCheckpoint",
            flag="model",
            value=target.name,
            consequence="it is a speculators checkpoint, which turns speculation on by itself",
            fix="serve the target model that it was made for",
            severity=Severity.ERROR,
        )


def _eagle3_target(subject: Subject, target: CheckedModel) -> Iterator[Finding]:
    supported = subject.contract.eagle3_targets
    if subject.method != "eagle3" or not supported or not target.model_type:
        return
    if not any(part in target.model_type for part in supported):
        named = ", ".join(sorted(supported))
        yield key_finding(
            check="Eagle3Target",
            key="method",
            value="eagle3",
            consequence=f"{subject.release} supports EAGLE-3 for {named} and stops the start for "
            f"{target.model_type}",
            fix="use a newer release, or another method",
            severity=Severity.ERROR,
        )


def _vocabulary(subject: Subject, target: CheckedModel, draft: CheckedModel) -> Iterator[Finding]:
    has_mapping = subject.method == "draft_model" and _MAPPING in subject.contract.keys
    mapped = has_mapping and subject.keys.get(_MAPPING) is True
    if subject.method not in _HEADS | {"draft_model"} or mapped:
        return
    ours, theirs = target.vocabulary, draft.vocabulary
    if ours is None or theirs is None or ours == theirs:
        return
    padded = abs(ours - theirs) <= _PADDING
    way_out = "choose one that shares the target's tokenizer"
    if has_mapping:
        way_out += f", or set {_MAPPING}"
    yield key_finding(
        check="Vocabulary",
        key="model",
        value=subject.keys.get("model"),
        consequence=f"its vocabulary has {theirs} tokens and the target's {ours}"
        + (" (perhaps one tokenizer, padded differently)" if padded else "")
        + ": the start stops",
        fix=way_out,
        severity=Severity.ERROR,
    )


def _hidden(subject: Subject, target: CheckedModel, draft: CheckedModel) -> Iterator[Finding]:
    if subject.method not in _HEADS or draft.hidden is None or target.hidden is None:
        return
    if draft.hidden != target.hidden:
        yield key_finding(
            check="HiddenSize",
            key="model",
            value=subject.keys.get("model"),
            consequence=f"the head reads hidden states of {draft.hidden} and the target has "
            f"{target.hidden}: the start stops while it loads the weights",
            fix="choose the head that was trained for this target",
            severity=Severity.ERROR,
        )


def _speculators_head(subject: Subject, draft: CheckedModel) -> Iterator[Finding]:
    if draft.speculators and subject.method == "eagle3" and subject.served.tensor_parallel > 1:
        yield key_finding(
            check="SpeculatorsHead",
            key="model",
            value=subject.keys.get("model"),
            consequence="heads of the speculators library were seen to fail while loading with "
            f"--tensor-parallel-size {subject.served.tensor_parallel}",
            fix="try it on one replica first, and pin the release that loads it",
            severity=Severity.WARNING,
        )
