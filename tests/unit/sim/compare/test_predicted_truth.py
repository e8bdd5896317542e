"""A deployment as the cost model has it, made the truth of a simulation."""

from dataclasses import replace

import pytest

from ridgeline.costmodel.arm import Acceptance, Arm, Origin
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.deployment import Deployment
from ridgeline.costmodel.goodput import ArmModel, arm_models
from ridgeline.costmodel.memory import room_of
from ridgeline.costmodel.workload import Workload
from ridgeline.settings.accelerators import load_catalogue
from ridgeline.settings.models import load_models
from ridgeline.sim.compare.predicted_truth import SCHEDULED, Differs, base_of, predicted_truth
from ridgeline.sim.requests.truth import Truth
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

WORKLOAD = Workload(context_tokens=1156.0, prefill_per_token=0.625)
NONE = Arm(
    name="none",
    method=Method.DISABLED,
    acceptance=Acceptance(rates=(), origin=Origin.NONE_NEEDED),
)
NGRAM = Arm(
    name="ngram",
    method=Method.NGRAM,
    lookahead=3,
    acceptance=Acceptance(rates=(0.6, 0.4, 0.3), hit=0.5, origin=Origin.STATED),
)


def deployment(**more: object) -> Deployment:
    accelerator = load_catalogue().named("h100-sxm")
    entry = load_models().find("meta-llama/Llama-3.1-8B-Instruct")
    assert accelerator is not None
    assert entry is not None
    known = Deployment(
        accelerator=accelerator,
        model=entry.facts.shape(),
        precision=Precision.BF16,
        max_num_seqs=256,
    )
    return replace(known, **more)  # type: ignore[arg-type]


def truth(differs: Differs | None = None, **more: bool) -> Truth:
    found = predicted_truth(deployment(), (NGRAM, NONE), WORKLOAD, differs, **more)
    assert isinstance(found, Truth)
    return found


@pytest.mark.parametrize("profile", ["ngram", "none"])
def test_what_a_replica_does_is_what_the_model_predicts(profile: str) -> None:
    """At the context of the workload, prompts included: the truth is the model, not its like."""
    found = truth()
    own = found.profiles[found.index_of(profile)]
    arm = NGRAM if profile == "ngram" else NONE
    (model,) = arm_models(deployment(), (arm,), WORKLOAD)
    assert isinstance(model, ArmModel)
    for batch in (1, 16, 100, 200):
        speed = batch * own.tokens_per_step[batch - 1] / own.step_seconds[batch - 1]
        assert speed == pytest.approx(model.goodput(float(batch)), rel=1e-6)
    quiet = found.curve(profile, prompt=500.0, output=1312.0).tokens_at(16.0)
    assert quiet == pytest.approx(model.goodput(16.0), rel=1e-6)


def test_memory_holds_as_many_requests_as_the_model_says() -> None:
    """Though a request is given all its room at once: at 900 + 512 of 1156 tokens on average."""
    small = deployment(gpu_memory_utilization=0.35)
    found = predicted_truth(small, (NGRAM, NONE), WORKLOAD, full_tokens=900.0 + 512.0)
    assert isinstance(found, Truth)
    room = room_of(replace(small, max_num_seqs=10_000), NONE, WORKLOAD)
    assert not isinstance(room, CannotSay)
    assert 1 < room.max_concurrency < found.max_seqs
    speeds = found.speeds("none", prompt=900.0, output=512.0)
    full = int(room.max_concurrency)
    assert speeds[full - 1] < speeds[full] == speeds[-1]


def test_longer_contexts_take_longer() -> None:
    found = truth()
    short = found.curve("none", prompt=100.0, output=100.0)
    long = found.curve("none", prompt=4000.0, output=100.0)
    assert long.tokens_at(32.0) < 0.95 * short.tokens_at(32.0)
    assert found.profiles[-1].kv_tokens < 1e12


def test_the_truth_differs_where_it_is_told_to() -> None:
    believed = truth()
    worse = truth(Differs(acceptance={"ngram": (0.2, 0.1, 0.0)}))
    assert worse.profiles[0].tokens_per_step[0] == pytest.approx(1.15)
    assert believed.profiles[0].tokens_per_step[0] == pytest.approx(1.65)
    assert worse.profiles[-1] == believed.profiles[-1]
    slower = truth(Differs(step_time={"none": 1.2}))
    assert slower.profiles[-1].step_seconds[7] == pytest.approx(
        1.2 * believed.profiles[-1].step_seconds[7]
    )
    assert slower.profiles[0] == believed.profiles[0]


def test_one_rate_goes_on_by_position() -> None:
    """As everywhere: each further draft is accepted with the same probability."""
    found = truth(Differs(acceptance={"ngram": (0.6,)}))
    assert found.profiles[0].tokens_per_step[0] == pytest.approx(1 + 0.5 * (0.6 + 0.36 + 0.216))


def test_an_in_engine_schedule_is_a_profile_of_its_own() -> None:
    found = truth(schedules=True)
    name = SCHEDULED.format("ngram")
    assert [each.name for each in found.profiles] == ["ngram", name, "none"]
    assert base_of(name) == "ngram"
    assert base_of("ngram") == "ngram"
    scheduled = found.profiles[1]
    assert len(set(scheduled.tokens_per_step)) > 1
    assert scheduled.tokens_per_step[0] >= scheduled.tokens_per_step[-1]
    worse = truth(Differs(acceptance={"ngram": (0.0, 0.0, 0.0)}), schedules=True)
    assert set(worse.profiles[1].tokens_per_step) == {1.0}


def test_without_none_there_is_nothing_to_compare_with() -> None:
    found = predicted_truth(deployment(), (NGRAM,), WORKLOAD)
    assert isinstance(found, CannotSay)
    assert "without speculation" in str(found)


def test_a_model_that_does_not_fit_cannot_be_simulated() -> None:
    entry = load_models().find("meta-llama/Llama-3.3-70B-Instruct")
    assert entry is not None
    large = deployment(model=entry.facts.shape())
    found = predicted_truth(large, (NGRAM, NONE), WORKLOAD)
    assert isinstance(found, CannotSay)
    assert "leave no room" in str(found)
