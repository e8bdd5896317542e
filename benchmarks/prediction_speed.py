"""What one cut-off table costs: eight profiles of one target."""

from __future__ import annotations

import timeit
from collections.abc import Callable

from benchmarks.prediction_names import gpu_of, target_of
from ridgeline.costmodel.acceptance import prior
from ridgeline.costmodel.arm import Arm
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput_table import goodput_table
from ridgeline.costmodel.workload import Workload
from ridgeline.settings.model_drafts import NoDraft, draft_of
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

PROFILES = (
    ("eagle-5", Method.EAGLE, None, 5),
    ("eagle3-7", Method.EAGLE3, None, 7),
    ("eagle3-5", Method.EAGLE3, None, 5),
    ("eagle3-3", Method.EAGLE3, None, 3),
    ("eagle3-1", Method.EAGLE3, None, 1),
    ("draft", Method.DRAFT_MODEL, "Llama-3.2-1B", 4),
    ("ngram", Method.NGRAM, None, 3),
)


def table_milliseconds(timer: Callable[[], float], rounds: int = 20, calls: int = 25) -> float:
    """Return the CPU of one table of eight profiles, the best of some rounds, in milliseconds."""
    gpu, target = gpu_of("H100"), target_of("Llama-3.1-8B")
    assert gpu is not None
    assert target is not None
    deployment = Deployment(accelerator=gpu, model=target.shape(), precision=Precision.BF16)
    arms = [Arm(name="none", method=Method.DISABLED)]
    for name, method, model, lookahead in PROFILES:
        draft = draft_of(method, model, target)
        assert not isinstance(draft, NoDraft)
        arms.append(
            Arm(
                name=name,
                method=method,
                lookahead=lookahead,
                draft=draft.shape if draft else None,
                acceptance=prior(method, lookahead),
            )
        )
    workload = Workload(context_tokens=500.0, prefill_per_token=0.3)
    times = timeit.repeat(
        lambda: goodput_table(deployment, arms, workload), timer=timer, repeat=rounds, number=calls
    )
    return min(times) / calls * 1e3
