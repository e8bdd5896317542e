"""A language model as the cost model sees it: what a step reads, multiplies and keeps per token."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """The experts of a mixture-of-experts model.

    Attributes:
        count: Routed experts per MoE layer.
        active: Routed experts that a token is sent to.
        params: Parameters of all routed experts together, over all layers.
        layers: Layers that have experts.

    Raises:
        ValueError: When more are active than there are, or a number is not positive.
    """

    count: int
    active: int
    params: float
    layers: int

    def __post_init__(self) -> None:
        """Refuse experts that no model has."""
        if not 1 <= self.active <= self.count:
            raise ValueError(f"active experts: {self.active} of {self.count}; give 1 to all")
        if self.layers < 1:
            raise ValueError(f"layers with experts is {self.layers}: give 1 or more")
        _require_positive("params of the experts", self.params)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """The facts of one model.

    Attributes:
        name: Its name.
        layers: Transformer layers.
        hidden: Width of the residual stream.
        vocabulary: Size of the vocabulary.
        params: All parameters; of a draft head those that a pass reads, among them its target's
            output matrix where it has none of its own.
        experts: The experts, `None` of a dense model. `params` includes theirs.
        kv_elements_per_token: Numbers that one token of context leaves in the KV cache, over all
            layers whose cache grows without limit (2 · KV heads · head size a layer; with MLA the
            latent and the rotary part).
        windowed_kv_elements_per_token: The same over layers with sliding-window attention, whose
            cache ends to grow at `window` tokens.
        window: Tokens of the sliding window; 0 without one.
        kv_splits: Most GPUs that the cache of one token can be divided over (its KV heads; 1 with
            MLA); beyond that each GPU keeps a copy. `None` when it divides over any number.
        checked: Whether the facts were read in a published configuration; `False` from memory.
        source: Where they come from.

    Raises:
        ValueError: When a number is not finite or not as it must be.
    """

    name: str
    layers: int
    hidden: int
    vocabulary: int
    params: float
    experts: Experts | None = None
    kv_elements_per_token: float
    windowed_kv_elements_per_token: float = 0.0
    window: int = 0
    kv_splits: int | None = None
    checked: bool
    source: str

    def __post_init__(self) -> None:
        """Refuse numbers from which no finite step time follows."""
        for name in ("layers", "hidden", "vocabulary"):
            if getattr(self, name) < 1:
                raise ValueError(f"{self.name}: {name} is {getattr(self, name)}: give 1 or more")
        _require_positive(f"{self.name}: params", self.params)
        for name in ("kv_elements_per_token", "windowed_kv_elements_per_token"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{self.name}: {name} is {value}: give 0 or more")
        if self.kv_splits is not None and self.kv_splits < 1:
            raise ValueError(f"{self.name}: kv_splits is {self.kv_splits}: give 1 or more, or None")
        if self.window < 0:
            raise ValueError(f"{self.name}: window is {self.window}: give 0 or more")
        if self.experts is not None and self.experts.params >= self.params:
            raise ValueError(f"{self.name}: the experts have all of its {self.params} parameters")

    @property
    def active_params(self) -> float:
        """Parameters that one token is multiplied with."""
        if self.experts is None:
            return self.params
        idle = 1.0 - self.experts.active / self.experts.count
        return self.params - self.experts.params * idle

    def kv_elements(self, context_tokens: float) -> float:
        """Return the numbers that the KV cache of one request holds at a context length."""
        windowed = min(context_tokens, float(self.window))
        return (
            self.kv_elements_per_token * context_tokens
            + self.windowed_kv_elements_per_token * windowed
        )


def _require_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value}: give a positive number")
