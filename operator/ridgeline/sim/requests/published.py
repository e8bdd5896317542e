"""Deployments whose step times were published: the truths of the benchmark.

Steps without speculation come from one fit and from data sheets, the gain of speculation from
tables of throughput ratios: T(profile) = E[L] · T(none) ÷ ratio. Points marked "carried on" lie
beyond what was published, and continue its trend.

Sources:
    FIXTURE: step times of Llama-3.1-8B with an EAGLE head on one H100, K = 0, 1, 3, 5
        (vLLM's dynamic speculation, pull request 32374).
    SDB: SpecDecode-Bench, arXiv 2601.11580, Fig. 1 (GSM8K, vLLM 0.10.1, H100) and its fitted step
        time of Llama-3.1-8B on H100: 5.886 ms + 21.0 µs per token + 39.26 ns per KV token.
    EAGLE3: arXiv 2503.01840, table of vLLM on one A100 (Llama-3.1-8B, MT-bench, chain of 2).
    TAX: price of a loaded drafter that drafts nothing, +6.6 % at 2 and +21.6 % at 189 requests
        (H100 NVL, vLLM issue 49548).
"""

from collections.abc import Sequence

import numpy as np

from ridgeline.sim.requests.truth import ProfileTruth, Truth

SPECULATING = "eagle"
NONE = "none"
SCHEDULE = "schedule"
FREE_SCHEDULE = "schedule-free"

_TAX = ((2.0, 0.066), (189.0, 0.216))


def idle_tax(concurrency: float) -> float:
    """Return the share that a loaded, idle drafter adds to a step (TAX; a straight line)."""
    (x0, y0), (x1, y1) = _TAX
    return y0 + (y1 - y0) * (concurrency - x0) / (x1 - x0)


def llama_8b_h100() -> Truth:
    """Llama-3.1-8B with an EAGLE head, K = 3, on one H100 (FIXTURE).

    E[L] of K = 3 is 2.28, so that 256 requests lose as much as published (0.79); p_1 is 0.64.
    """
    batch = (1.0, 4.0, 16.0, 64.0, 256.0)
    none = (6.521e-3, 6.602e-3, 6.899e-3, 7.774e-3, 14.491e-3)
    one = (7.368e-3, 7.473e-3, 7.852e-3, 9.656e-3, 27.138e-3)
    three = (8.841e-3, 8.981e-3, 9.518e-3, 13.498e-3, 41.848e-3)
    return _truth(
        name="8b",
        arms=[(2.28, batch, three), (1.64, batch, one), (1.0, batch, none)],
        max_seqs=256,
        kv_seconds_per_token=39.26e-9,
        prefill_seconds_per_token=21.0e-6,
        kv_tokens=430_000.0,
        knee_tokens=295.0,
        lookahead=3,
    )


def llama_70b_h100() -> Truth:
    """Llama-3-70B with an EAGLE head, K = 3, on four H100 (ratios: SDB; steps: SDB, scaled).

    Scaled by parameters ÷ 4 GPUs (70.6 ÷ 8.03 ÷ 4), the KV part by 2.5 ÷ 4, with 1.5 ms for 160
    all-reduces.
    """
    batch = (1.0, 16.0, 64.0, 128.0, 192.0, 256.0)
    ratio = (1.908, 1.743, 1.419, 1.006, 0.85, 0.735)  # 192 and 256 carried on
    scale = 70.6 / 8.03 / 4
    none = _linear(batch, 5.886e-3 * scale + 1.5e-3, 21.0e-6 * scale + 900 * 24.5e-9)
    return _truth(
        name="70b",
        arms=_from_ratios(batch, none, 2.28, ratio),
        max_seqs=256,
        kv_seconds_per_token=24.5e-9,
        prefill_seconds_per_token=21.0e-6 * scale,
        kv_tokens=450_000.0,
        knee_tokens=295.0,
        lookahead=3,
    )


def weak_head_a100() -> Truth:
    """Llama-3.1-8B with an EAGLE head, K = 2, on one A100 (ratios: EAGLE3; steps: data sheet).

    Steps: weights 16.06 GB at 0.81 · 2.04 TB/s, 0.67 ms of overhead, 2 · 8.03 G operations per
    token at 0.77 · 312 TFLOP/s, 64 ns per KV token.
    """
    batch = (1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 56.0, 64.0)
    ratio = (1.32, 1.30, 1.25, 1.21, 1.10, 1.03, 0.93, 0.82, 0.71, 0.66)  # 1 and 64 carried on
    none = _linear(batch, 10.4e-3, 66.8e-6 + 900 * 64e-9)
    return _truth(
        name="weak",
        arms=_from_ratios(batch, none, 1.8, ratio),
        max_seqs=64,
        kv_seconds_per_token=64e-9,
        prefill_seconds_per_token=66.8e-6,
        kv_tokens=430_000.0,
        knee_tokens=153.0,
        lookahead=2,
    )


FAMILIES = {"70b": llama_70b_h100, "8b": llama_8b_h100, "weak": weak_head_a100}
"""The deployments by the name that the benchmark's scenarios begin with."""

Arm = tuple[float, Sequence[float], Sequence[float]]
"""Acceptance length, concurrency, step seconds."""


def _linear(batch: Sequence[float], fixed: float, each: float) -> tuple[float, ...]:
    return tuple(fixed + each * n for n in batch)


def _from_ratios(
    batch: Sequence[float], none: Sequence[float], length: float, ratios: Sequence[float]
) -> list[Arm]:
    steps = tuple(length * t / ratio for t, ratio in zip(none, ratios, strict=True))
    return [(length, batch, steps), (1.0, batch, none)]


def _truth(
    *,
    name: str,
    arms: list[Arm],
    max_seqs: int,
    kv_seconds_per_token: float,
    prefill_seconds_per_token: float,
    kv_tokens: float,
    knee_tokens: float,
    lookahead: int,
) -> Truth:
    grid = np.arange(1.0, max_seqs + 1)
    sampled = [(length, np.interp(grid, batch, steps)) for length, batch, steps in arms]
    none = sampled[-1][1]
    price = np.array([1.0 + idle_tax(each) for each in grid])
    profiles = [_profile(SPECULATING, grid, sampled[0][1], np.full(len(grid), sampled[0][0]))]
    for label, idle in ((SCHEDULE, none * price), (FREE_SCHEDULE, none)):
        choices = [*sampled[:-1], (1.0, idle)]
        speeds = np.array([length / steps for length, steps in choices])
        best = speeds.argmax(axis=0)
        column = np.arange(len(grid))
        steps = np.array([each for _, each in choices])[best, column]
        lengths = np.array([length for length, _ in choices])[best]
        profiles.append(_profile(label, grid, steps, lengths))
    profiles.append(_profile(NONE, grid, none, np.ones(len(grid))))
    return Truth(
        name=name,
        profiles=tuple(
            ProfileTruth(
                name=each.name,
                concurrency=each.concurrency,
                step_seconds=each.step_seconds,
                tokens_per_step=each.tokens_per_step,
                # a head of one layer with its own KV cache
                kv_tokens=kv_tokens if each.name == NONE else 0.95 * kv_tokens,
            )
            for each in profiles
        ),
        max_seqs=max_seqs,
        reference_context=900.0,
        kv_seconds_per_token=kv_seconds_per_token,
        prefill_seconds_per_token=prefill_seconds_per_token,
        knee_tokens=knee_tokens,
        lookahead=lookahead,
    )


def _profile(name: str, grid: np.ndarray, steps: np.ndarray, lengths: np.ndarray) -> ProfileTruth:
    return ProfileTruth(
        name=name,
        concurrency=tuple(float(each) for each in grid),
        step_seconds=tuple(float(each) for each in steps),
        tokens_per_step=tuple(float(each) for each in lengths),
    )
