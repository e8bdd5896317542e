"""What the requests are like, apart from how many there are."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The mean request of one target.

    Attributes:
        context_tokens: Tokens in the KV cache of a request in decode, on average over its decode.
        prefill_per_token: Prompt tokens computed per generated token (r of the step-time formula;
            prompts found in the prefix cache are not computed).

    Raises:
        ValueError: When a number is not finite or negative.
    """

    context_tokens: float
    prefill_per_token: float = 0.0

    def __post_init__(self) -> None:
        """Refuse numbers that could not be compared."""
        for name in ("context_tokens", "prefill_per_token"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}: give a finite number, 0 or more")
