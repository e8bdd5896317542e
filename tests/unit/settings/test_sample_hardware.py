"""Each sample's target, heads and draft models fit its GPU, and its cut-off is what it says."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from ridgeline.api.accelerator import parse_accelerator
from ridgeline.api.policy import parse_policy
from ridgeline.api.serving import parse_serving
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.table import CutoffTable
from ridgeline.engine.flags import precision_hint, tensor_parallel_size
from ridgeline.engine.served_model import served_model
from ridgeline.policy.facts import Problem
from ridgeline.policy.learned import Learned
from ridgeline.settings.accelerators import (
    ResolvedAccelerator,
    load_catalogue,
    override_of,
    resolve_accelerator,
)
from ridgeline.settings.cutoffs import RidgeInputs
from ridgeline.settings.goodput import Answer, GoodputInputs, answer, ask
from ridgeline.settings.inherit import ResolvedSpec, resolve_spec
from ridgeline.settings.resolve import profiles_of, settings_of
from ridgeline.settings.sources import Origin
from ridgeline.settings.target_model import target_model
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Strategy
from ridgeline.terms.precision import Precision
from ridgeline.terms.verdict import Verdict

FOLDER = Path(__file__).parents[3] / "deploy" / "samples"
DOCUMENTS: list[dict[str, Any]] = [
    document
    for path in sorted(FOLDER.glob("*.yaml"))
    if path.name != "kustomization.yaml"
    for document in yaml.safe_load_all(path.read_text())
]

GIGA = 1e9
TAKEN = 0.9
"""Share of a GPU's memory that vLLM takes by default."""

WORKSPACE = 3.0 * GIGA
"""Activations and CUDA graphs, at most."""

TARGETS: dict[str, tuple[str, float, float]] = {
    "meta-llama/Meta-Llama-3-8B-Instruct": ("llama-3-8b", 16.1, 131072),
    "RedHatAI/Meta-Llama-3-8B-Instruct-FP8": ("llama-3-8b", 9.1, 131072),
    "meta-llama/Llama-3.1-8B-Instruct": ("llama-3.1-8b", 16.1, 131072),
    "meta-llama/Meta-Llama-3-70B-Instruct": ("llama-3-70b", 141.2, 327680),
    "RedHatAI/Qwen3-8B-FP8-dynamic": ("qwen3-8b", 9.4, 147456),
    "RedHatAI/Qwen3-8B-quantized.w4a16": ("qwen3-8b", 6.2, 147456),
    "Qwen/Qwen2.5-Coder-7B-Instruct": ("qwen2.5-7b", 15.2, 57344),
}
"""Model that it is a form of, weights in 10^9 bytes, bytes of KV cache per token."""

DRAFTERS: dict[str, tuple[frozenset[str], Method, float, float]] = {
    "yuhuili/EAGLE-LLaMA3-Instruct-8B": (frozenset({"llama-3-8b"}), Method.EAGLE, 1.6, 4096),
    "yuhuili/EAGLE-LLaMA3-Instruct-70B": (frozenset({"llama-3-70b"}), Method.EAGLE, 4.1, 4096),
    "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B": (
        frozenset({"llama-3.1-8b"}),
        Method.EAGLE3,
        0.9,
        4096,
    ),
    "RedHatAI/Qwen3-8B-speculator.eagle3": (frozenset({"qwen3-8b"}), Method.EAGLE3, 2.0, 4096),
    "meta-llama/Llama-3.2-1B-Instruct": (
        frozenset({"llama-3-8b", "llama-3-70b", "llama-3.1-8b"}),
        Method.DRAFT_MODEL,
        2.5,
        32768,
    ),
    "Qwen/Qwen3-0.6B": (frozenset({"qwen3-8b"}), Method.DRAFT_MODEL, 1.5, 114688),
}
"""Targets that it was trained for or shares the vocabulary of, method, weights, KV cache."""


def documents(kind: str) -> list[dict[str, Any]]:
    return [document for document in DOCUMENTS if document["kind"] == kind]


SERVINGS = documents("SpeculativeServing")
every_serving = pytest.mark.parametrize("serving", SERVINGS, ids=lambda s: s["metadata"]["name"])


def serving_named(name: str) -> SpeculativeServingSpec:
    (found,) = [s for s in SERVINGS if s["metadata"]["name"] == name]
    return parse_serving(found, strict=True).spec


def template_of(spec: SpeculativeServingSpec) -> dict[str, Any]:
    (target,) = [
        d for d in documents("Deployment") if d["metadata"]["name"] == spec.target_ref.name
    ]
    found: dict[str, Any] = target["spec"]["template"]["spec"]
    return found


def words_of(spec: SpeculativeServingSpec) -> list[str]:
    container = template_of(spec)["containers"][0]
    return [*container["command"], *container["args"]]


def accelerator_of(spec: SpeculativeServingSpec) -> Accelerator:
    profiles = [parse_accelerator(d, strict=True) for d in documents("AcceleratorProfile")]
    catalogue = load_catalogue().with_overrides(map(override_of, profiles))
    found = resolve_accelerator([template_of(spec)["nodeSelector"]], catalogue, spec.accelerator)
    assert isinstance(found, ResolvedAccelerator), found
    return found.accelerator


def resolved(spec: SpeculativeServingSpec) -> ResolvedSpec:
    policies = {
        d["metadata"]["name"]: parse_policy(d, strict=True).spec
        for d in documents("SpeculationPolicy")
    }
    ref = spec.policy_ref
    return resolve_spec(spec, (ref.name, policies[ref.name]) if ref else None)


def predicted(spec: SpeculativeServingSpec, context_tokens: float | None = None) -> Answer:
    """What the Goodput strategy says; before any telemetry where no context is given."""
    words = words_of(spec)
    served = served_model(words)
    inputs = GoodputInputs(
        accelerator=accelerator_of(spec),
        model=target_model(spec.model, served),
        precision=precision_hint(words).precision,
        served=served,
    )
    question = ask(profiles_of(spec), inputs)
    assert not isinstance(question, Problem), question
    if context_tokens is not None:
        learned = Learned(
            basis=question.basis, context_tokens=context_tokens, prefill_per_token=0.5
        )
        question = ask(profiles_of(spec), replace(inputs, learned=learned))
        assert not isinstance(question, Problem), question
    return answer(question)


def table_of(name: str) -> CutoffTable:
    spec = serving_named(name)
    words = words_of(spec)
    hint = precision_hint(words).precision
    ridge = RidgeInputs(
        accelerator=accelerator_of(spec),
        precision=(spec.model.precision if spec.model else None) or hint,
        tensor_parallel=tensor_parallel_size(words),
    )
    table = settings_of(resolved(spec), profiles_of(spec), ridge, lambda: predicted(spec)).cutoff
    assert not isinstance(table, Problem), table
    return table


@every_serving
def test_the_nodes_that_a_target_asks_for_have_the_gpu_that_is_meant(
    serving: dict[str, Any],
) -> None:
    spec = parse_serving(serving, strict=True).spec
    by_label = accelerator_of(spec.model_copy(update={"accelerator": None}))
    assert accelerator_of(spec) == by_label


@every_serving
def test_a_target_asks_for_as_many_gpus_as_it_spans(serving: dict[str, Any]) -> None:
    spec = parse_serving(serving, strict=True).spec
    container = template_of(spec)["containers"][0]
    spans = str(tensor_parallel_size(words_of(spec)))
    assert container["resources"]["requests"]["nvidia.com/gpu"] == spans
    assert container["resources"]["limits"]["nvidia.com/gpu"] == spans


@every_serving
def test_target_and_larger_drafter_leave_room_for_a_request_of_full_length(
    serving: dict[str, Any],
) -> None:
    spec = parse_serving(serving, strict=True).spec
    words = words_of(spec)
    _, weights, cache = TARGETS[words[2]]
    drafters = [DRAFTERS[each.model] for each in spec.profiles if each.model]
    spans = tensor_parallel_size(words)
    (length,) = [int(w.split("=")[1]) for w in words if w.startswith("--max-model-len=")]
    room = accelerator_of(spec).memory_gib * GIGA * TAKEN - WORKSPACE
    heaviest = max((weight for _, _, weight, _ in drafters), default=0.0)
    widest = max((kv for _, _, _, kv in drafters), default=0.0)
    free = room - (weights + heaviest) * GIGA / spans
    assert free >= 2 * length * (cache + widest) / spans


@every_serving
def test_a_drafter_stands_beside_the_target_that_it_belongs_to(serving: dict[str, Any]) -> None:
    spec = parse_serving(serving, strict=True).spec
    model = TARGETS[words_of(spec)[2]][0]
    for profile in spec.profiles:
        if profile.model is not None:
            targets, method, _, _ = DRAFTERS[profile.model]
            assert model in targets
            assert profile.method is method


@every_serving
def test_the_precision_that_a_serving_states_is_the_one_of_its_target(
    serving: dict[str, Any],
) -> None:
    spec = parse_serving(serving, strict=True).spec
    stated = spec.model.precision if spec.model else None
    assert (stated or Precision.BF16) is precision_hint(words_of(spec)).precision


@pytest.mark.parametrize(
    ("name", "verdict", "borders"),
    [
        ("llama-3-8b", Verdict.YES, {"draft-1b": 20.0, "eagle2": 30.0, "none": None}),
        ("qwen3-8b-fp8", Verdict.YES, {"eagle3": 32.0, "none": None}),
        ("llama-3-70b", Verdict.YES, {"draft-1b": 8.0, "eagle2": 64.0, "none": None}),
        ("llama-3-8b-l4", Verdict.YES, {"draft-1b": 27.3, "eagle2": 41.0, "none": None}),
        ("qwen3-8b-desk", Verdict.YES, {"draft-0-6b": 2.8, "eagle3": 4.2, "none": None}),
    ],
)
def test_a_sample_has_the_cutoffs_that_its_comment_tells(
    name: str, verdict: Verdict, borders: dict[str, float | None]
) -> None:
    table = table_of(name)
    assert table.verdict is verdict
    assert {row.profile: row.up_to for row in table.rows} == pytest.approx(borders, abs=0.06)


PREDICTED = [each for each in SERVINGS if "cutoff" not in each["spec"]]


def test_a_sample_is_predicted_from_an_acceptance_that_is_stated() -> None:
    (sample,) = PREDICTED
    spec = parse_serving(sample, strict=True).spec
    assert resolved(spec).cutoff.value.resolved_strategy is Strategy.GOODPUT
    assert spec.accelerator is None
    assert spec.model is None
    assert all(profile.acceptance_percent for profile in spec.profiles if profile.method.speculates)


@pytest.mark.parametrize(
    ("context", "verdict", "cutoff", "lower_edge"),
    [
        (None, Verdict.UNDECIDED, None, None),
        (1000.0, Verdict.YES, None, None),
        (300.0, Verdict.UNDECIDED, 180.7, 116.6),
    ],
)
def test_what_is_predicted_of_a_sample_is_what_its_comment_tells(
    context: float | None, verdict: Verdict, cutoff: float | None, lower_edge: float | None
) -> None:
    (sample,) = PREDICTED
    table = predicted(parse_serving(sample, strict=True).spec, context).cutoff
    assert not isinstance(table, Problem), table
    assert table.verdict is verdict
    row = table.rows[0]
    assert row.profile == "eagle3"
    assert row.up_to == pytest.approx(cutoff, abs=5)
    assert row.return_below == pytest.approx(lower_edge, abs=5)
    assert (len(table.rows) == 1) is (cutoff is None)


def test_a_policy_is_shared_and_leaves_the_cutoff_to_the_servings() -> None:
    sharing = [s for s in SERVINGS if "policyRef" in s["spec"]]
    assert len(sharing) >= 2
    for serving in sharing:
        found = resolved(parse_serving(serving, strict=True).spec)
        assert found.problem is None
        assert found.quieter_seconds.source.origin is Origin.POLICY
        assert found.cutoff.source.origin is not Origin.POLICY


def test_the_made_up_gpu_is_known_by_its_label_and_by_its_name() -> None:
    (profile,) = documents("AcceleratorProfile")
    spec = parse_accelerator(profile, strict=True).spec
    assert spec.match is not None
    catalogue = load_catalogue()
    assert profile["metadata"]["name"] not in catalogue.names
    catalogue = catalogue.with_overrides([override_of(parse_accelerator(profile))])
    assert catalogue.refused == {}
    for product in spec.match.product_names:
        found = resolve_accelerator([{"nvidia.com/gpu.product": product}], catalogue, None)
        assert isinstance(found, ResolvedAccelerator)
        assert found.accelerator == catalogue.named("acme-x1")
        assert found.accelerator.ridge_tokens == 90
        assert found.accelerator.knee_tokens(Precision.BF16) == pytest.approx(240)
