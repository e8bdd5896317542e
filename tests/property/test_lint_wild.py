"""Whatever is given to lint: findings, or one message; never an exception that nobody expected."""

import json
import math
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.cli.cutoff_flags import FlagError
from ridgeline.cli.lint_around import Said
from ridgeline.cli.lint_configs import draft_configs, target_config
from ridgeline.cli.lint_files import LintInputError, documents_of
from ridgeline.cli.lint_run import NothingToLintError, lint_report
from ridgeline.render.lint import lint_annotations, lint_json, lint_text
from tests.unit.cli.lint_inputs import (
    config_map,
    default,
    eagle,
    flag,
    policy,
    profile,
    serving,
    target,
    workload,
)
from tests.unit.cli.lint_inputs import container as vllm

NOON = 1_800_000_000.0

WORDS = st.sampled_from(
    [
        *("", "vllm", "serve", "sh", "-c", "--config", "--config=/etc/f/a.yaml", "-sc", "$", "$$"),
        *("--speculative-config", "--speculative-config=", "--spec-method", "--spec-tokens", "{"),
        *("--speculative-config.method", "$(SPECULATION_CONFIG)", "$SPECULATION_CONFIG", "None"),
        *('{"method":"eagle"}', '{"num_speculative_tokens":1e400}', "exec vllm serve x -sc '$A'"),
        *("--tensor-parallel-size", "0", "-1", "9" * 400, "nan", "1k", "--shutdown-timeout=inf"),
        *("Deployment", "Recreate", "25%", "%", "v0.24.0", "acme/vllm:v0.9.9.9.9", "2026-01-01"),
        *("* * * * *", "Europe/Berlin", "fast", "none", "l4", "meta-llama/Llama-3.1-8B"),
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | WORDS
    | st.sampled_from([10**400, -(10**400), math.inf, math.nan, -0.0])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6) | WORDS, inner, max_size=3)
    ),
    max_leaves=6,
)

HEAD = profile("Eagle3", model="yuhuili/EAGLE3-LLaMA3.1-Instruct-8B")
BUNDLE: list[dict[str, Any]] = [
    target(
        "--config=/etc/f/a.yaml",
        "--max-num-seqs=64",
        env=[{"name": "A", "value": "$(B)"}],
        volumeMounts=[{"name": "f", "mountPath": "/etc/f"}],
        livenessProbe={"periodSeconds": 10},
        resources={"limits": {"nvidia.com/gpu": "1"}},
        pod={
            "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-L4"},
            "volumes": [{"name": "f", "configMap": {"name": "flags", "items": []}}],
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        },
    ),
    default(),
    config_map("flags", {"a.yaml": "tensor-parallel-size: 1\n"}),
    serving(
        HEAD,
        profile("DraftModel", name="draft", model="meta-llama/Llama-3.2-1B-Instruct"),
        policyRef={"name": "shared"},
        objective={"p99TPOTMilliseconds": 60},
        accelerator="acme",
    ),
    policy(
        cutoff={
            "strategy": "Fixed",
            "ranges": [{"upToConcurrency": 8, "profile": "fast"}, {"profile": "none"}],
        },
        schedules=[{"name": "a", "cron": "0 8 * * *", "durationSeconds": 60, "profile": "none"}],
    ),
    {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "AcceleratorProfile",
        "metadata": {"name": "acme"},
        "spec": {"memoryGiB": 24, "memoryBandwidthGBps": 500, "denseBF16TFLOPS": 100},
    },
    workload(vllm("org/m", flag(eagle(draft_tensor_parallel_size=2)), "--enforce-eager")),
]


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value inside a value."""
    pairs: Sequence[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    below = [place for key, inner in pairs for place in places(inner, (*way, key))]
    return [*([way] if way else []), *below]


PLACES = st.sampled_from(places(BUNDLE))


def changed(place: tuple[Any, ...], value: Any, bodies: list[Any]) -> list[Any]:
    """Put a value in a place; where a change before left no such place, nothing happens."""
    inner: Any = bodies
    for step in place[:-1]:
        try:
            inner = inner[step]
        except (KeyError, IndexError, TypeError):
            return bodies
    last = place[-1]
    fits = isinstance(last, int) and isinstance(inner, list) and len(inner) > last
    if fits or (isinstance(last, str) and isinstance(inner, dict)):
        inner[last] = deepcopy(value)
    return bodies


def is_one_line(message: str) -> None:
    assert message
    assert message.isprintable(), message


def judged(path: Path, **said: Any) -> None:
    """Judge a file, and look at every word that is said."""
    try:
        report = lint_report(documents_of([str(path)]), Said(now=NOON, **said))
    except (LintInputError, NothingToLintError, FlagError) as error:
        is_one_line(str(error))
        return
    for remark in report.remarks:
        finding = remark.finding
        for part in (finding.check, finding.flag, finding.consequence, finding.fix):
            assert part
            assert part.isprintable(), part
        assert finding.value.isprintable()
    assert lint_text(report).count("→") >= len(report.remarks)
    json.loads(lint_json(report))
    assert len(lint_annotations(report).splitlines()) == len(report.remarks) + 1


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lint") / "input.yaml"


def test_the_bundle_itself_is_judged(file: Path) -> None:
    file.write_text(yaml.safe_dump_all(BUNDLE), encoding="utf-8")
    found = lint_report(documents_of([str(file)]), Said(now=NOON))
    checks = {each.finding.check for each in found.remarks}
    assert {"LatencyBuckets", "DraftTensorParallel", "EagerDrafts"} <= checks
    assert not {"ManifestUnreadable", "ManifestValue", "SpecInvalid", "TargetNotSeen"} & checks


@given(changes=st.lists(st.tuples(PLACES, VALUES), min_size=1, max_size=4))
def test_manifests_with_anything_anywhere(
    file: Path, changes: list[tuple[tuple[Any, ...], Any]]
) -> None:
    bodies: list[Any] = deepcopy(BUNDLE)
    for place, value in changes:
        bodies = changed(place, value, bodies)
    file.write_text(json.dumps({"kind": "List", "items": bodies}), encoding="utf-8")
    judged(file)


@given(
    words=st.lists(WORDS | SCALARS, max_size=8), shell=st.booleans(), script=st.text(max_size=60)
)
def test_any_command_line(file: Path, words: list[Any], shell: bool, script: str) -> None:
    deployment = deepcopy(BUNDLE[0])
    own = deployment["spec"]["template"]["spec"]["containers"][0]
    own["args"] = ["-c", script, *words] if shell else words
    own["command"] = ["sh"] if shell else ["vllm", "serve"]
    bodies = {"kind": "List", "items": [deployment, *BUNDLE[1:4]]}
    file.write_text(json.dumps(bodies), encoding="utf-8")
    judged(file)


@given(
    config=VALUES, version=st.sampled_from(["0.4.3", "0.9.2", "0.13.0", "0.24.0", "0.33.0", None])
)
def test_any_config(file: Path, config: Any, version: str | None) -> None:
    merged = {**eagle(), **config} if isinstance(config, dict) else config
    for value in (config, merged):
        body = workload(vllm("org/m", flag(value), image="acme/vllm:stable"))
        file.write_text(json.dumps(body), encoding="utf-8")
        judged(file, version=version)


@given(text=st.text(max_size=300))
def test_any_text(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", errors="replace")
    judged(file)


@given(raw=st.binary(max_size=200))
def test_any_bytes(file: Path, raw: bytes) -> None:
    file.write_bytes(raw)
    judged(file)


@given(cut=st.integers(min_value=0), junk=st.text(max_size=8))
def test_yaml_that_is_cut_or_has_junk_in_it(file: Path, cut: int, junk: str) -> None:
    text = yaml.safe_dump_all(BUNDLE)
    at = cut % len(text)
    for broken in (text[:at], text[:at] + junk + text[at:]):
        file.write_text(broken, encoding="utf-8", errors="replace")
        judged(file)


@given(text=st.text(max_size=200))
def test_any_file_of_flags(file: Path, text: str) -> None:
    bodies = [*BUNDLE[:2], config_map("flags", {"a.yaml": text}), *BUNDLE[3:]]
    file.write_text(json.dumps({"kind": "List", "items": bodies}), encoding="utf-8")
    judged(file)


@given(
    config=VALUES
    | st.dictionaries(
        st.sampled_from(
            [
                *("vocab_size", "hidden_size", "model_type", "num_hidden_layers", "text_config"),
                *("num_attention_heads", "num_key_value_heads", "intermediate_size", "head_dim"),
                *("speculators_config", "num_nextn_predict_layers", "torch_dtype", "architectures"),
            ]
        ),
        VALUES,
    )
)
def test_any_config_json(file: Path, config: Any) -> None:
    file.write_text(json.dumps(config), encoding="utf-8")
    try:
        told, model = target_config(str(file), "org/m")
        drafts = draft_configs([str(file), f"fast={file}"])
    except LintInputError as error:
        is_one_line(str(error))
        return
    file.write_text(yaml.safe_dump_all(BUNDLE), encoding="utf-8")
    judged(file, target=told, model=model, drafts=drafts)
