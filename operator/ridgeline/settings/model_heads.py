"""EAGLE and EAGLE-3 heads, and layers for multi-token prediction: what a draft pass reads.

    EAGLE     fc (2·hidden → hidden) · one decoder layer · the target's output matrix
    EAGLE-3   fc (3·hidden → hidden) · one decoder layer whose attention takes embedding and hidden
              state side by side · an output matrix of its own, over the draft vocabulary
    MTP       a projection (2·hidden → hidden) · one layer of the target · its output matrix

Embeddings are the target's, and one row of them per token is nothing. The fc of EAGLE-3 runs once
per engine step and is counted in every pass, which is up to a tenth too much. Sources: the EAGLE
repository (SafeAILab/EAGLE), the DeepSeek-V3 report (arXiv 2412.19437) for MTP.
"""

from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.shape import ModelShape
from ridgeline.settings.model_facts import ModelFacts
from ridgeline.terms.methods import Method

TYPICAL_DRAFT_VOCABULARY: Final = 32000
"""Draft vocabulary of EAGLE-3 heads (SafeAILab/EAGLE, sgl-project/SpecForge)."""

_FEATURES: Final = {Method.EAGLE: 2, Method.EAGLE3: 3}
"""Hidden-sized inputs of the fc: token and feature, or features of three layers."""

_TYPICAL_KV_HEADS: Final = 8
"""KV heads of a head for a target with MLA, whose layer it cannot copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What drafts: a head, a draft model, or layers of the target.

    Attributes:
        shape: What one draft pass reads: its `params` count the target's output matrix too, where
            the head has none of its own.
        added_params: Parameters that it brings to the GPUs' memory; less than `shape.params` where
            the output matrix is the target's.
        notes: What a person should know, such as facts that nobody checked.
    """

    shape: ModelShape
    added_params: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """An EAGLE or EAGLE-3 head.

    Attributes:
        name: Its published name.
        method: `Eagle` or `Eagle3`.
        targets: Models that it fits, by their names in the catalogue.
        hidden: Width of its residual stream.
        intermediate: Width of its MLP.
        heads: Query heads.
        kv_heads: Key and value heads.
        head_size: Size of a head.
        vocabulary: Rows of the output matrix that a pass multiplies with.
        own_output: Whether it brings that matrix along.
        published_billions: Its published count of parameters, in billions.
        source: Where the numbers come from.
        as_of: Date on which they were taken from there (ISO 8601).
        checked: Whether that source was read.
    """

    name: str
    method: Method
    targets: tuple[str, ...]
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    own_output: bool = False
    published_billions: float | None = None
    source: str
    as_of: str
    checked: bool

    @property
    def added_params(self) -> int:
        """Parameters that the head brings: fc, one layer, and its output matrix if it has one."""
        queries = self.heads * self.head_size
        inputs = self.hidden * (2 if self.method is Method.EAGLE3 else 1)
        attention = inputs * (queries + 2 * self.kv_heads * self.head_size) + queries * self.hidden
        mlp = 3 * self.hidden * self.intermediate
        output = self._output_params if self.own_output else 0
        return _FEATURES[self.method] * self.hidden**2 + attention + mlp + output

    @property
    def _output_params(self) -> int:
        return self.hidden * self.vocabulary

    def draft(self, notes: tuple[str, ...] = ()) -> Draft:
        """Return what drafts with this head."""
        shared = 0 if self.own_output else self._output_params
        return Draft(
            shape=ModelShape(
                name=self.name,
                layers=1,
                hidden=self.hidden,
                vocabulary=self.vocabulary,
                params=float(self.added_params + shared),
                kv_elements_per_token=float(2 * self.kv_heads * self.head_size),
                kv_splits=self.kv_heads,
                checked=self.checked,
                source=self.source,
            ),
            added_params=float(self.added_params),
            notes=notes,
        )


def typical_head(target: ModelFacts, method: Method, name: str) -> Head:
    """Return the head that a model usually gets: one layer as wide as the target's own.

    It is derived, not read: `checked` is false and the source says so.
    """
    mixture = target.mixture
    width = target.intermediate or (mixture.active * mixture.intermediate if mixture else 0)
    with_latent = target.latent is not None
    own = method is Method.EAGLE3
    return Head(
        name=name,
        method=method,
        targets=(target.name,),
        hidden=target.hidden,
        intermediate=width,
        heads=target.heads,
        kv_heads=min(target.heads, _TYPICAL_KV_HEADS) if with_latent else target.kv_heads,
        head_size=target.head_size,
        vocabulary=min(TYPICAL_DRAFT_VOCABULARY, target.vocabulary) if own else target.vocabulary,
        own_output=own,
        source=f"derived from the shape of {target.name}",
        as_of=target.as_of,
        checked=False,
    )


def mtp_draft(target: ModelFacts) -> Draft:
    """Return what drafts with a model's own layer for multi-token prediction."""
    mixture = target.mixture
    layer = target.attention_params + (
        target.expert_params + target.router_params
        if mixture is not None
        else 3 * target.hidden * target.intermediate
    )
    added = layer + 2 * target.hidden**2
    return Draft(
        shape=ModelShape(
            name=f"MTP layer of {target.name}",
            layers=1,
            hidden=target.hidden,
            vocabulary=target.vocabulary,
            params=float(added + target.hidden * target.vocabulary),
            experts=target.experts(1),
            kv_elements_per_token=float(target.kv_elements_per_layer),
            kv_splits=1 if target.latent is not None else target.kv_heads,
            checked=target.checked,
            source=f"one layer of {target.name}: {target.source}",
        ),
        added_params=float(added),
    )
