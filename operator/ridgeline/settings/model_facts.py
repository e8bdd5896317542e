"""A model's published configuration, and the shape that follows from it.

Parameters are counted from the matrices that a configuration implies, per layer:

    attention   q and o of heads · head size each, k and v of KV heads · head size each
    MLA         q (through its rank, where it has one), the joint latent, its expansion, o
    linear      the projections of a gated delta rule, its short convolution, o
    MLP         three matrices (gate, up, down) of hidden · intermediate
    experts     three such matrices per expert, the shared ones, and the router

plus embedding and output matrix (one where they are tied). Norms and biases are left out: they are
less than 0.1 %.
"""

from dataclasses import dataclass
from typing import Final

from ridgeline.costmodel.shape import Experts, ModelShape

_GATED_MLP: Final = 3
"""Matrices of a gated MLP: gate, up and down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """Multi-head latent attention (MLA): one joint latent per token instead of keys and values.

    Attributes:
        kv_rank: Width of the latent (kv_lora_rank).
        query_rank: Width that queries are squeezed through (q_lora_rank); `None` without.
        rotary: Rotary part of a head (qk_rope_head_dim), kept once per token.
        content: Other part of a head's key (qk_nope_head_dim).
        value: Size of a head's value (v_head_dim).
    """

    kv_rank: int
    query_rank: int | None = None
    rotary: int
    content: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """Layers of linear attention (gated delta rule): a state of fixed size instead of a KV cache.

    Attributes:
        layers: How many there are.
        key_heads: Heads of queries and keys.
        value_heads: Heads of values.
        key_size: Size of a key head.
        value_size: Size of a value head.
    """

    layers: int
    key_heads: int
    value_heads: int
    key_size: int
    value_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Layers of sliding-window attention: how many, and how many tokens they look back."""

    layers: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Layers with experts.

    Attributes:
        count: Routed experts per layer.
        active: Routed experts that a token is sent to.
        intermediate: Width of one routed expert.
        shared_intermediate: Width of all shared experts of a layer together, 0 without.
        layers: Layers that have experts; the others are dense.
    """

    count: int
    active: int
    intermediate: int
    shared_intermediate: int = 0
    layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """The configuration of one model.

    Attributes:
        name: Its published name.
        layers: Transformer layers.
        hidden: Width of the residual stream.
        intermediate: Width of the MLP of a layer without experts.
        heads: Query heads of a layer.
        kv_heads: Key and value heads of a layer.
        head_size: Size of a head.
        vocabulary: Size of the vocabulary, padding included.
        tied: Whether embedding and output matrix are one.
        output_gate: Whether attention has a gate as large as its queries.
        latent: MLA; `None` for keys and values per head.
        linear: Layers of linear attention among `layers`.
        window: Layers of sliding-window attention among `layers`.
        mixture: Layers with experts among `layers`.
        mtp_layers: Layers for multi-token prediction that come with the checkpoint; they are not
            counted among `layers` and `params`.
        source: Where the facts come from.
        as_of: Date on which they were taken from there (ISO 8601).
        checked: Whether that source was read; `False` from memory or derived.

    Raises:
        ValueError: When a number is not as it must be.
    """

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    tied: bool = False
    output_gate: bool = False
    latent: Latent | None = None
    linear: Linear | None = None
    window: Window | None = None
    mixture: Mixture | None = None
    mtp_layers: int = 0
    source: str
    as_of: str
    checked: bool

    def __post_init__(self) -> None:
        """Refuse numbers that no model has."""
        for field in ("layers", "hidden", "heads", "kv_heads", "head_size", "vocabulary"):
            if getattr(self, field) < 1:
                raise ValueError(f"{self.name}: {field} is {getattr(self, field)}: give 1 or more")
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.name}: {self.heads} heads cannot share {self.kv_heads} KV heads evenly"
            )
        for part in (self.linear, self.window, self.mixture):
            if part is not None and not 1 <= part.layers <= self.layers:
                raise ValueError(f"{self.name}: {part.layers} of its {self.layers} layers")
        linear = self.linear.layers if self.linear else 0
        windowed = self.window.layers if self.window else 0
        if linear + windowed > self.layers:
            raise ValueError(f"{self.name}: more kinds of attention than its {self.layers} layers")
        if self.dense_layers and self.intermediate < 1:
            raise ValueError(f"{self.name}: intermediate is {self.intermediate}: give 1 or more")

    @property
    def dense_layers(self) -> int:
        """Layers without experts."""
        return self.layers - (self.mixture.layers if self.mixture else 0)

    @property
    def attention(self) -> str:
        """Kind of attention, in the field's words: MHA, GQA, MQA, MLA, sliding, hybrid."""
        if self.linear is not None:
            return "hybrid"
        if self.latent is not None:
            return "MLA"
        several = "MHA" if self.kv_heads == self.heads else "GQA"
        kind = "MQA" if self.kv_heads == 1 else several
        return f"{kind}, sliding" if self.window else kind

    @property
    def attention_params(self) -> int:
        """Parameters of one attention layer that keeps a KV cache."""
        if self.latent is not None:
            return _latent_params(self.hidden, self.heads, self.latent)
        queries = self.hidden * self.heads * self.head_size
        keys = self.hidden * self.kv_heads * self.head_size
        return queries * (3 if self.output_gate else 2) + 2 * keys

    @property
    def expert_params(self) -> int:
        """Parameters of all routed experts of one layer, 0 of a dense model."""
        if self.mixture is None:
            return 0
        return self.mixture.count * _GATED_MLP * self.hidden * self.mixture.intermediate

    @property
    def router_params(self) -> int:
        """Parameters that every token meets in a layer with experts: router, shared experts."""
        if self.mixture is None:
            return 0
        shared = _GATED_MLP * self.hidden * self.mixture.shared_intermediate
        return self.hidden * self.mixture.count + shared

    @property
    def params(self) -> int:
        """All parameters, without layers for multi-token prediction."""
        linear = self.linear.layers if self.linear else 0
        mixed = self.mixture.layers if self.mixture else 0
        return (
            self.vocabulary * self.hidden * (1 if self.tied else 2)
            + (self.layers - linear) * self.attention_params
            + (_linear_params(self.hidden, self.linear) if self.linear else 0)
            + self.dense_layers * _GATED_MLP * self.hidden * self.intermediate
            + mixed * (self.expert_params + self.router_params)
        )

    @property
    def kv_elements_per_layer(self) -> int:
        """Numbers that one token leaves in the cache of one layer."""
        if self.latent is not None:
            return self.latent.kv_rank + self.latent.rotary
        return 2 * self.kv_heads * self.head_size

    def shape(self) -> ModelShape:
        """Return what the cost model reckons with."""
        linear = self.linear.layers if self.linear else 0
        windowed = self.window.layers if self.window else 0
        full = self.layers - linear - windowed
        return ModelShape(
            name=self.name,
            layers=self.layers,
            hidden=self.hidden,
            vocabulary=self.vocabulary,
            params=float(self.params),
            experts=None if self.mixture is None else self.experts(self.mixture.layers),
            kv_elements_per_token=float(full * self.kv_elements_per_layer),
            windowed_kv_elements_per_token=float(windowed * self.kv_elements_per_layer),
            window=self.window.tokens if self.window else 0,
            kv_splits=1 if self.latent is not None else self.kv_heads,
            checked=self.checked,
            source=self.source,
        )

    def experts(self, layers: int) -> Experts | None:
        """Return the experts of so many layers; `None` of a dense model."""
        if self.mixture is None:
            return None
        return Experts(
            count=self.mixture.count,
            active=self.mixture.active,
            params=float(layers * self.expert_params),
            layers=layers,
        )


def _latent_params(hidden: int, heads: int, latent: Latent) -> int:
    key = latent.rotary + latent.content
    rank = latent.query_rank
    queries = hidden * heads * key if rank is None else rank * (hidden + heads * key)
    joint = hidden * (latent.kv_rank + latent.rotary)
    expansion = latent.kv_rank * heads * (latent.content + latent.value)
    return queries + joint + expansion + heads * latent.value * hidden


_CONVOLUTION: Final = 4
"""Taps of the short convolution before linear attention (linear_conv_kernel_dim)."""


def _linear_params(hidden: int, linear: Linear) -> int:
    keys = linear.key_heads * linear.key_size
    values = linear.value_heads * linear.value_size
    projections = hidden * (2 * keys + 2 * values + 2 * linear.value_heads)
    convolution = _CONVOLUTION * (2 * keys + values)
    return linear.layers * (projections + convolution + values * hidden)
