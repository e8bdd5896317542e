"""What is read from a released package, on a small package that is built like one."""

import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from ridgeline.engine.contract import contract_of
from ridgeline.settings.engine_contract import load_engine_contracts
from tests.tools import engine_contract
from tests.tools.engine_contract_reading import UnreadableError, read

SPECULATIVE = """
from typing import Literal
from pydantic import Field
MTP = Literal["a_mtp", "mtp"]
SpeculativeMethod = Literal["ngram", "draft_model", MTP]
Sample = Literal["standard", "synthetic"]

@config
class SpeculativeConfig:
    num_speculative_tokens: int = Field(default=None, gt=0)
    method: SpeculativeMethod | None = None
    depth: int | None = Field(default=None, ge=3)
    factor: float = 1.0
    rates: list[float] | None = None
    table: list[tuple[int, int, int]] | None = None
    sample: Sample = "standard"
    quant: Literal["fp8", "nvfp4"] | None = None
    eager: bool | None = None
    load: LoadConfig | None = None
    target_model_config: SkipValidation[ModelConfig] = None
    _private: int = 0
    counted: ClassVar[int] = 0

    def __post_init__(self):
        if self.method is None and is_path(self.model):
            self.method = "custom_class"
        supported = 1
        aux_hidden_states_supported = ["llama", "qwen"]
"""
WHOLE = """
class VllmConfig:
    def _maybe_disable_dynamic_sd_for_v1(self):
        if spec.method in ("ngram", "mtp"):
            return
    def _maybe_disable_dynamic_sd_for_data_parallel(self):
        pass
    def _set_max_num_scheduled_tokens(self):
        delta = spec.max_num_new_slots_for_drafting * self.scheduler_config.max_num_seqs
"""
UTILS = """
import pydantic
def config(cls):
    return dataclass(cls, config=ConfigDict(extra="forbid"))
"""
ARGUMENTS = """
group.add_argument("--speculative-config", "-sc", **kwargs)
group.add_argument("--unwatched", **kwargs)
vllm_kwargs["speculative_config"]["type"] = optional_type(json.loads)
config = {k.replace("-", "_"): v for k, v in given.items()}
maybe_override_with_speculators()
raise NotImplementedError("Speculative decoding with draft model is not supported yet.")
"""
LOGGERS = """
a = self._counter_cls(name="vllm:prompt_tokens", documentation="d")
b = self._gauge_cls(name="vllm:num_requests_running", documentation="d")
c = self._histogram_cls(name="vllm:latency_seconds", documentation="d")
d = self._counter_cls(name="vllm:flops_total", documentation="d")
e = self._other(name="vllm:nothing")
name = "vllm:cache_config_info"
if self.show_hidden_metrics:
    f = self._gauge_cls(name="vllm:hidden", documentation="d")
"""
SPEC_METRICS = """
for name, doc in (("vllm:spec_decode_num_drafts", "Number of drafts."),):
    counter = self._counter_cls(name=name, documentation=doc)
"""
FILES = {
    "vllm/config/speculative.py": SPECULATIVE,
    "vllm/config/vllm.py": WHOLE,
    "vllm/config/utils.py": UTILS,
    "vllm/config/cache.py": "class CacheConfig:\n"
    "    gpu_memory_utilization: float = Field(default=0.92, gt=0, le=1)\n",
    "vllm/engine/arg_utils.py": ARGUMENTS,
    "vllm/v1/metrics/loggers.py": LOGGERS,
    "vllm/v1/spec_decode/metrics.py": SPEC_METRICS,
    "vllm/v1/spec_decode/draft_model.py": "def _raise_if_draft_tp_mismatch(self): pass\n",
    "vllm/v1/sample/rejection_sampler.py": "MAX_SPEC_LEN = 128\n",
}


def package(folder: Path, **changed: str) -> Path:
    files = {**FILES, **{name.replace("__", "/") + ".py": text for name, text in changed.items()}}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_keys_with_type_lowest_value_and_choices(tmp_path: Path) -> None:
    assert read(package(tmp_path))["keys"] == {
        "num_speculative_tokens": {"type": "Whole", "minimum": 1},
        "method": {"type": "Text"},
        "depth": {"type": "Whole", "minimum": 3},
        "factor": {"type": "Number"},
        "rates": {"type": "Numbers"},
        "table": {"type": "Table"},
        "sample": {"type": "Text", "choices": ["standard", "synthetic"]},
        "quant": {"type": "Text", "choices": ["fp8", "nvfp4"]},
        "eager": {"type": "Switch"},
        "load": {"type": "Object"},
        "target_model_config": {"type": "Object"},
    }


def test_facts(tmp_path: Path) -> None:
    row = read(package(tmp_path))
    assert row.pop("keys")
    assert row == {
        "methods": ["a_mtp", "draft_model", "mtp", "ngram"],
        "flags": ["--speculative-config", "-sc"],
        "metrics": [
            "vllm:cache_config_info",
            "vllm:flops_total",
            "vllm:latency_seconds",
            "vllm:num_requests_running",
            "vllm:prompt_tokens_total",
            "vllm:spec_decode_num_drafts_total",
        ],
        "unknownKeys": "Refused",
        "emptyConfigIsOff": True,
        "checksTypes": True,
        "dashedKeys": True,
        "notImplemented": ["draft_model"],
        "scheduleMethods": ["mtp", "ngram"],
        "scheduleDroppedWithDataParallel": True,
        "disableByBatchSize": "Refused",
        "draftModelTensorParallel": "Target",
        "draftSlots": "PerRequest",
        "maxLookahead": 128,
        "speculatorsCheckpoint": True,
        "customClass": "WithoutMethod",
        "eagle3Targets": ["llama", "qwen"],
        "defaultMemoryUtilization": 0.92,
    }


def old(text: str = SPECULATIVE) -> dict[str, str]:
    """The same package with less: what an older release looks like."""
    text = text.replace("self.method is None and is_path(self.model)", "'.' in self.model")
    return {
        "vllm__config__speculative": text,
        "vllm__config__vllm": "class VllmConfig: pass\n",
        "vllm__config__utils": "",
        "vllm__engine__arg_utils": 'p.add_argument("--speculative-config", type=json.loads)\n',
        "vllm__v1__spec_decode__draft_model": "",
    }


def test_an_older_package(tmp_path: Path) -> None:
    row = read(package(tmp_path, **old()))
    told = {name: row[name] for name in ("emptyConfigIsOff", "dashedKeys", "notImplemented")}
    assert told == {"emptyConfigIsOff": False, "dashedKeys": False, "notImplemented": []}
    assert row["scheduleMethods"] is None
    assert row["customClass"] == "Always"
    assert (row["draftSlots"], row["draftModelTensorParallel"]) == ("None", "OneOrTarget")


@pytest.mark.parametrize(
    ("first", "unknown"),
    [
        ("from dataclasses import dataclass\n", "Refused"),
        ("from pydantic.dataclasses import dataclass\n", "Ignored"),
    ],
)
def test_unknown_keys_by_the_kind_of_dataclass(tmp_path: Path, first: str, unknown: str) -> None:
    row = read(package(tmp_path, **old(first + SPECULATIVE)))
    assert row["unknownKeys"] == unknown
    assert row["disableByBatchSize"] == unknown


def test_a_method_that_the_code_knows_counts_where_nothing_checks_it(tmp_path: Path) -> None:
    more = SPECULATIVE + '        if self.method in ("eagle3", "[ngram]"):\n            pass\n'
    assert "eagle3" not in _words(read(package(tmp_path / "a", vllm__config__speculative=more)))
    methods = _words(read(package(tmp_path / "b", **old(more))))
    assert "eagle3" in methods
    assert "[ngram]" not in methods


def _words(row: dict[str, Any]) -> list[str]:
    return list(row["methods"])


@pytest.mark.parametrize(("reader", "says"), [("worker", "Works"), ("config", "Ignored")])
def test_disable_by_batch_size_works_where_something_reads_it(
    tmp_path: Path, reader: str, says: str
) -> None:
    text = SPECULATIVE.replace("    factor:", "    disable_by_batch_size: int = 0\n    factor:")
    changed = {"vllm__config__speculative": text, f"vllm__{reader}__x": "c.disable_by_batch_size\n"}
    assert read(package(tmp_path, **changed))["disableByBatchSize"] == says


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("vllm__config__speculative", "no class SpeculativeConfig"),
        ("vllm__config__cache", "no class CacheConfig"),
        ("vllm__v1__sample__rejection_sampler", "no MAX_SPEC_LEN"),
    ],
)
def test_a_package_that_is_built_otherwise_is_said(tmp_path: Path, file: str, says: str) -> None:
    with pytest.raises(UnreadableError, match=says):
        read(package(tmp_path, **{file: ""}))


def test_a_folder_without_the_package(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match=r"vllm/config/speculative\.py"):
        read(tmp_path)


def test_the_command_prints_the_entry_to_review(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(package(tmp_path))
    assert engine_contract.main(["--version", "0.40.0", "--source", source]) == 1
    told = capsys.readouterr().out
    (entry,) = yaml.safe_load(told)
    assert (entry["version"], entry["source"]) == ("0.40.0", "wheel")
    assert {"depth", "factor"} <= set(entry["addKeys"])
    assert "model" in entry["removeKeys"]
    assert entry["notImplemented"] == ["draft_model"]
    assert "maxLookahead" not in entry  # the same as before
    assert "# Describe these under `keys`" in told


def test_the_command_fails_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert engine_contract.main(["--version", "0.33.0", "--source", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_reading_of_what_the_data_says_differs_in_nothing() -> None:
    contracts = load_engine_contracts()
    said = engine_contract.row_of(contract_of(contracts, "0.24.0"))
    assert engine_contract.differences(said, {**said, "scheduleMethods": None}) == {}
    changed = {**said, "maxLookahead": 64, "methods": ["eagle"], "keys": {}}
    entry = engine_contract.differences(said, changed)
    assert entry["maxLookahead"] == 64
    assert set(entry) == {"maxLookahead", "removeMethods", "removeKeys"}


def test_a_key_that_changed_is_told_alone() -> None:
    said = {"a": {"type": "Whole", "minimum": 1, "choices": []}, "b": {"type": "Text"}}
    found = {"a": {"type": "Number", "minimum": 1}, "b": {"type": "Text"}, "c": {"type": "Text"}}
    assert engine_contract.changed_keys(said, found) == [{"name": "a", "type": "Number"}]


def test_a_release_without_an_entry_is_worth_one() -> None:
    assert "add an entry" in engine_contract.report("0.33.1", {}, listed=False)
    assert "add an entry" not in engine_contract.report("0.33.0", {}, listed=True)


def test_python_files_of_the_wheel_are_unpacked_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "vllm-1.whl", "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr(name, text)
        wheel.writestr("vllm/_C.so", "binary")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: Done())
    folder = engine_contract.download("1", tmp_path)
    assert sorted(each.suffix for each in folder.rglob("*.*")) == [".py"] * len(FILES)
    assert read(folder)["maxLookahead"] == 128


class Done:
    returncode = 0
    stderr = ""


def test_a_release_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = Done()
    failed.returncode, failed.stderr = 1, "noise\nERROR: No matching distribution found"
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: failed)
    with pytest.raises(UnreadableError, match="vllm 9 cannot be downloaded: ERROR: No matching"):
        engine_contract.download("9", tmp_path)
