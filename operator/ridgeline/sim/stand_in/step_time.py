"""How long one engine step takes: a small model, slow on purpose.

With B requests in decode, K drafts verified for each and P prompt tokens computed in the step:

    T = scale × (tax × (base + request × B + token × max(0, B × (K + 1) − knee)) + prefill × P
                 + K × (draft + draft_request × B))

``tax`` is 1, save in a step that drafts nothing while a drafter is loaded and kept in step with the
target: there it is 1 + 0.0644 + 0.0008 × B, the line through the measured 6.6 % at 2 and 21.6 % at
189 requests (H100 NVL, vLLM issue 49548). The drafter's pass is part of that measurement.

The defaults put the same number of tokens per second for EAGLE at K = 4 (default acceptance, 2.17
tokens per step) and for no speculation at 22 requests. Real steps are ten times shorter: these are
long so that several servers fit on one core.
"""

from dataclasses import dataclass

IDLE_TAX = 0.0644
"""Share of a step that a loaded but idle drafter costs in an empty batch."""

IDLE_TAX_PER_REQUEST = 0.000802
"""What each request adds to that share."""

DRAFT_COSTS_MS: dict[str, tuple[float, float]] = {
    "draft_model": (12.0, 0.1),
    "ngram": (0.2, 0.01),
    "ngram_gpu": (0.2, 0.01),
    "suffix": (0.2, 0.01),
}
"""One pass of the drafter, and per request, where it is not one layer deep as EAGLE's."""

ONE_LAYER_DRAFT_MS = (4.0, 0.05)


@dataclass(frozen=True, kw_only=True)
class StepTimeModel:
    """The constants of the model, in milliseconds; None takes the method's own draft cost."""

    base_ms: float = 100.0
    request_ms: float = 0.6
    token_ms: float = 1.8
    knee_tokens: float = 48.0
    prefill_token_ms: float = 0.15
    draft_ms: float | None = None
    draft_request_ms: float | None = None
    scale: float = 1.0

    def seconds(
        self, *, requests: int, lookahead: int, prefill_tokens: int, drafter: str | None
    ) -> float:
        """Duration of one step.

        Args:
            requests: Requests in decode.
            lookahead: Drafts verified per request in this step.
            prefill_tokens: Prompt tokens computed in this step.
            drafter: The loaded drafter's method, or None without one (or with one that costs
                nothing while idle, as the V0 engine's above its threshold).

        Returns:
            Seconds.
        """
        tokens = requests * (lookahead + 1)
        target = self.base_ms + self.request_ms * requests
        target += self.token_ms * max(0.0, tokens - self.knee_tokens)
        if drafter is not None and lookahead == 0:
            target *= 1.0 + IDLE_TAX + IDLE_TAX_PER_REQUEST * requests
        drafts = self._draft_pass_ms(drafter, requests) * lookahead
        return self.scale * (target + drafts + self.prefill_token_ms * prefill_tokens) / 1000.0

    def _draft_pass_ms(self, drafter: str | None, requests: int) -> float:
        if drafter is None:
            return 0.0
        fixed, each = DRAFT_COSTS_MS.get(drafter, ONE_LAYER_DRAFT_MS)
        if self.draft_ms is not None:
            fixed = self.draft_ms
        if self.draft_request_ms is not None:
            each = self.draft_request_ms
        return fixed + each * requests
