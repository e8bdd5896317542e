"""What the catalogue tells the checks of a target and of what drafts for it.

A `config.json` that somebody has at hand tells more, and wins over it.
"""

from collections.abc import Iterator
from typing import Final

from ridgeline.engine.check_subject import CheckedModel, key_finding
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.speculative_config import Profile
from ridgeline.settings.model_heads import Head
from ridgeline.settings.models import load_models
from ridgeline.settings.target_model import TargetModel
from ridgeline.terms.methods import Method

_HEADS: Final = frozenset({Method.EAGLE, Method.EAGLE3})


def catalogued_target(model: TargetModel) -> CheckedModel:
    """Return what is known of a served model without its `config.json`."""
    facts = model.facts
    return CheckedModel(
        name=model.shape.name,
        vocabulary=model.shape.vocabulary,
        hidden=model.shape.hidden,
        model_type=_family(facts.name) if facts is not None else "",
        mtp_layers=facts.mtp_layers if facts is not None else None,
    )


_FAMILIES: Final = (
    ("gpt-oss", "gpt_oss"),
    ("qwen3", "qwen3"),
    ("qwen2", "qwen2"),
    ("llama", "llama"),
    ("vicuna", "llama"),
    ("mixtral", "mixtral"),
    ("mistral", "mistral"),
    ("gemma-2", "gemma2"),
    ("gemma-3", "gemma3"),
    ("phi-", "phi3"),
)
"""What a name of the catalogue contains, and how the `model_type` of its `config.json` begins."""


def _family(name: str) -> str:
    """Return how a model's `model_type` begins; empty where its name does not tell."""
    plain = name.casefold()
    return next((family for part, family in _FAMILIES if part in plain), "")


def catalogued_draft(profile: Profile) -> CheckedModel | None:
    """Return what the catalogue tells of a head or draft model; `None` when it has none."""
    if profile.model is None:
        return None
    if profile.method in _HEADS:
        head = load_models().head(profile.model, profile.method)
        return None if head is None else _checked_head(head)
    if profile.method is not Method.DRAFT_MODEL:
        return None
    found = load_models().find(profile.model)
    if found is None:
        return None
    return CheckedModel(
        name=profile.model, vocabulary=found.facts.vocabulary, hidden=found.facts.hidden
    )


def _checked_head(head: Head) -> CheckedModel:
    # Who brings an output matrix of its own drafts over a part of the vocabulary: that part's size
    # is no misfit.
    return CheckedModel(
        name=head.name,
        vocabulary=None if head.own_output else head.vocabulary,
        hidden=head.hidden,
    )


def pair_findings(profile: Profile, model: TargetModel | None) -> Iterator[Finding]:
    """Yield that a head is known to be made for another target, or for nobody knows which.

    A head for another target of the same widths loads, and drafts what is hardly ever accepted.
    """
    if profile.method not in _HEADS or profile.model is None or model is None:
        return
    target = model.shape.name
    head = load_models().head(profile.model, profile.method)
    if head is not None and target not in head.targets and model.facts is not None:
        yield _finding(
            "HeadForOther",
            profile.model,
            f"the head was made for {' and '.join(head.targets)}, and the target is {target}: it "
            "fails while it loads, or its drafts are hardly ever accepted",
            _instead(profile.method, target),
            Severity.WARNING,
        )
    elif head is None:
        yield _finding(
            "HeadNotVerified",
            profile.model,
            f"the catalogue does not know that the head was made for {target}: a head of another "
            "target fails while it loads, or at the first draft",
            "try it on one replica first",
            Severity.INFO,
        )


def _instead(method: Method, target: str) -> str:
    fitting = load_models().head_for(target, method)
    return f"use {fitting.name}" if fitting is not None else "use a head of that target"


def _finding(check: str, model: str, consequence: str, fix: str, severity: Severity) -> Finding:
    return key_finding(
        check=check, key="model", value=model, consequence=consequence, fix=fix, severity=severity
    )
