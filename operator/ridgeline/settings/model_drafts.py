"""What drafts for a profile: its head, its draft model, the target's own layer, or nothing."""

from dataclasses import dataclass, replace

from ridgeline.settings.model_facts import ModelFacts
from ridgeline.settings.model_heads import Draft, Head, mtp_draft, typical_head
from ridgeline.settings.models import ModelEntry, load_models, nearest
from ridgeline.terms.methods import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class NoDraft:
    """Why what drafts is not known, or cannot draft for this target; for a person."""

    message: str


def draft_of(method: Method, name: str | None, target: ModelFacts) -> Draft | NoDraft | None:
    """Return what drafts for a target; `None` where the method drafts without a model.

    Args:
        method: The profile's method.
        name: The profile's `model`.
        target: The served model.
    """
    if method in (Method.EAGLE, Method.EAGLE3):
        return _head(method, name, target)
    if method is Method.DRAFT_MODEL:
        return _draft_model(name, target)
    if method is Method.MTP:
        return _own_layer(target)
    return None


def vocabulary_misfit(draft: int, target: int) -> str | None:
    """Return why a draft model's vocabulary does not fit its target's; `None` where it does.

    vLLM compares the sizes and does not start when they differ, also where only the padding does
    (Qwen2.5: 151936 up to 3B, 152064 from 7B on).
    """
    if draft == target:
        return None
    return (
        f"a vocabulary of {draft} against the target's {target}: vLLM refuses the pair; use a "
        "draft model with the target's vocabulary, or a head"
    )


def _head(method: Method, name: str | None, target: ModelFacts) -> Draft | NoDraft:
    models = load_models()
    known = models.head(name, method) if name else None
    if known is not None:
        return _known_head(known, target)
    told = f"{method.value} head {name}" if name else f"{method.value} head"
    like = models.head_for(target.name, method)
    if like is not None:
        source = f"taken for {like.name}, of the same target: {like.source}"
        note = f"the {told} is not in the catalogue and is {source}"
        taken = replace(like, name=name or like.name, source=source, checked=False)
        return taken.draft(notes=(note,))
    derived = typical_head(target, method, name or f"a typical {method.value} head")
    return derived.draft(
        notes=(f"the {told} is not in the catalogue: its shape is {derived.source}",)
    )


def _known_head(head: Head, target: ModelFacts) -> Draft | NoDraft:
    if target.name in head.targets:
        return head.draft()
    # A head reads hidden states, and without an output matrix of its own writes logits of one size.
    one_vocabulary = head.own_output or head.vocabulary == target.vocabulary
    if head.hidden == target.hidden and one_vocabulary:
        return head.draft(
            notes=(
                f"{head.name} was trained for {' and '.join(head.targets)}, not for "
                f"{target.name}: its acceptance may be poor",
            )
        )
    return NoDraft(
        message=f"{head.name} fits {' and '.join(head.targets)}, not {target.name} (hidden size "
        f"{head.hidden} against {target.hidden}, vocabulary {head.vocabulary} against "
        f"{target.vocabulary}): use a head of that target"
    )


def _draft_model(name: str | None, target: ModelFacts) -> Draft | NoDraft:
    if not name:
        return NoDraft(message="the profile names no draft model: set its model")
    found = load_models().find(name)
    if found is None:
        return NoDraft(message=f"the draft model {name} is not in the catalogue{_like(name)}")
    return _fitting(found, target)


def _fitting(found: ModelEntry, target: ModelFacts) -> Draft | NoDraft:
    facts = found.facts
    misfit = vocabulary_misfit(facts.vocabulary, target.vocabulary)
    if misfit is not None:
        return NoDraft(message=f"{facts.name} cannot draft for {target.name}: {misfit}")
    return Draft(shape=facts.shape(), added_params=float(facts.params))


def _own_layer(target: ModelFacts) -> Draft | NoDraft:
    if not target.mtp_layers:
        return NoDraft(
            message=f"{target.name} comes without a layer for multi-token prediction: use another "
            "method"
        )
    return mtp_draft(target)


def _like(name: str) -> str:
    close = nearest(name)
    return f"; names that look like it: {', '.join(close)}" if close else ""
