"""The speculative config against flags, parallelism, memory and the traps of a release."""

import pytest

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.memory import GIB, Room
from ridgeline.engine.check_subject import circumstances
from ridgeline.engine.contract import Circumstance
from ridgeline.engine.findings import Severity, refuses
from tests.unit.engine.contracts import contract, draft, eagle, found, ngram, subject

SCHEDULE = {"num_speculative_tokens_per_batch_size": [[1, 16, 4], [17, 64, 0]]}


@pytest.mark.parametrize(("version", "automatic"), [("0.10.2", False), ("0.11.0", True)])
def test_before_0_11_only_recommendations(version: str, automatic: bool) -> None:
    got = found(ngram(), version)
    assert ("ReleaseTooOld" not in got) is automatic
    assert contract(version).automatic is automatic


def test_a_release_that_was_not_read_is_named_with_the_one_it_counts_as() -> None:
    finding = found(ngram(colour="blue"), "0.40.0")
    assert finding["ReleaseNotRead"].severity is Severity.WARNING
    assert "judged as 0.33.0" in finding["ReleaseNotRead"].consequence
    assert "vLLM 0.40.0 (judged as 0.33.0)" in finding["KeyUnknown"].consequence
    assert "ReleaseNotRead" not in found(ngram())


@pytest.mark.parametrize(
    ("config", "version", "flags", "severity"),
    [
        (draft(draft_tensor_parallel_size=1), "0.9.2", "-tp 4", None),
        (draft(draft_tensor_parallel_size=4), "0.9.2", "-tp 4", None),
        (draft(draft_tensor_parallel_size=2), "0.9.2", "-tp 4", Severity.ERROR),
        (draft(draft_tensor_parallel_size=1), "0.15.0", "-tp 4", Severity.ERROR),
        (draft(draft_tensor_parallel_size=4), "0.15.0", "-tp 4", None),
        (draft(draft_tensor_parallel_size=1), "0.15.0", "", None),
        (draft(), "0.15.0", "-tp 4", None),
        (eagle(draft_tensor_parallel_size=1), "0.13.0", "-tp 4", Severity.WARNING),
        (eagle(draft_tensor_parallel_size=4), "0.13.0", "-tp 4", None),
        (eagle(draft_tensor_parallel_size=8), "0.13.0", "-tp 4", Severity.ERROR),
    ],
)
def test_the_drafters_tensor_parallel_size(
    config: dict[str, object], version: str, flags: str, severity: Severity | None
) -> None:
    finding = found(config, version, flags).get("DraftTensorParallel")
    assert (finding.severity if finding else None) is severity


@pytest.mark.parametrize(
    ("config", "version", "flags", "severity"),
    [
        # 2048 tokens and one slot for each of 2048 requests leave none
        (draft(), "0.22.0", "--max-num-batched-tokens 2048 --max-num-seqs 2048", Severity.ERROR),
        (draft(), "0.22.0", "--max-num-batched-tokens 2048 --max-num-seqs 2047", Severity.INFO),
        # parallel drafting of a head: K − 1 = 3 for each of 256
        (
            eagle(parallel_drafting=True), "0.22.0",
            "--max-num-batched-tokens 768 --max-num-seqs 256", Severity.ERROR,
        ),
        (
            eagle(parallel_drafting=True), "0.22.0",
            "--max-num-batched-tokens 769 --max-num-seqs 256", Severity.INFO,
        ),
        # of a draft model: K = 4 for each
        (
            draft(parallel_drafting=True), "0.22.0",
            "--max-num-batched-tokens 1024 --max-num-seqs 256", Severity.ERROR,
        ),
        (eagle(), "0.22.0", "--max-num-batched-tokens 768 --max-num-seqs 1024", Severity.INFO),
        (eagle(), "0.22.0", "--max-num-batched-tokens 8192 --max-num-seqs 1024", None),
        (draft(), "0.22.0", "--max-num-batched-tokens 9000 --max-num-seqs 512", None),
        (draft(), "0.22.0", "--max-num-batched-tokens 8500 --max-num-seqs 512", Severity.INFO),
        # from 0.28 nothing is taken off, and one request must fit
        (draft(), "0.28.0", "--max-num-batched-tokens 8192 --max-num-seqs 8192", None),
        (draft(), "0.28.0", "--max-num-batched-tokens 1", Severity.ERROR),
        # before 0.17 the scheduler takes nothing off
        (draft(), "0.16.0", "--max-num-batched-tokens 2048 --max-num-seqs 2048", None),
        # what is not told is not judged
        (draft(), "0.22.0", "--max-num-batched-tokens 2048", None),
        (draft(), "0.22.0", "--max-num-seqs 2048", None),
        (None, "0.22.0", "--max-num-batched-tokens 2048 --max-num-seqs 2048", None),
    ],
)  # fmt: skip
def test_room_for_drafts_in_a_step(
    config: dict[str, object] | None, version: str, flags: str, severity: Severity | None
) -> None:
    finding = found(config, version, flags).get("DraftSlots")
    assert (finding.severity if finding else None) is severity


def room(*, by_memory: bool, draft_bytes: float = 2.5 * GIB) -> Room:
    return Room(
        max_concurrency=31.6,
        by_memory=by_memory,
        draft_bytes=draft_bytes,
        kv_bytes=2.0**28,
        draft_kv_bytes=2.0**23,
    )


def test_a_draft_that_takes_the_room_of_requests() -> None:
    finding = found(draft(), room=room(by_memory=True))["Memory"]
    assert (finding.flag, finding.value) == ("--gpu-memory-utilization", "0.92")
    assert "2.5 GiB and its cache 8 MiB a request: 32 fit" in finding.consequence
    assert finding.severity is Severity.WARNING
    told = found(draft(), flags="--gpu-memory-utilization 0.8", room=room(by_memory=True))
    assert told["Memory"].value == "0.8"
    assert found(draft(), "0.19.0", room=room(by_memory=True))["Memory"].value == "0.9"


def test_room_enough_is_no_finding() -> None:
    assert "Memory" not in found(draft(), room=room(by_memory=False))
    assert "Memory" not in found(ngram(), room=room(by_memory=True, draft_bytes=0.0))


def test_no_room_at_all() -> None:
    nothing = CannotSay(reason="weights leave no room", way_out="use more GPUs", impossible=True)
    finding = found(draft(), room=nothing)["Memory"]
    assert (finding.severity, finding.fix) == (Severity.ERROR, "use more GPUs")
    unknown = CannotSay(reason="the shape is not known", way_out="tell it")
    assert "Memory" not in found(draft(), room=unknown)


@pytest.mark.parametrize(
    ("flag", "lacks", "has"),
    [
        ("-sc", "0.18.0", "0.19.0"),
        ("--spec-method", "0.21.0", "0.22.0"),
        ("--spec_tokens=4", "0.21.0", "0.22.0"),
    ],
)
def test_flags_that_a_release_lacks(flag: str, lacks: str, has: str) -> None:
    assert found(None, lacks, f"{flag} x")["FlagUnknown"].severity is Severity.ERROR
    assert "FlagUnknown" not in found(None, has, f"{flag} x")


@pytest.mark.parametrize("joint", [" ", "="])
def test_a_config_under_another_flag(joint: str) -> None:
    text = f'--additional-config{joint}{{"method":"mtp","num_speculative_tokens":1}}'
    assert found(None, flags=text)["ConfigElsewhere"].severity is Severity.ERROR
    assert "ConfigElsewhere" not in found(None, flags='--additional-config {"a":1}')


@pytest.mark.parametrize(
    ("words", "circumstance"),
    [
        ("--enable-lora", Circumstance.LORA),
        ("--lora-modules a=b", Circumstance.LORA),
        ("-pp 2", Circumstance.PIPELINE_PARALLEL),
        ("--data-parallel-size=2", Circumstance.DATA_PARALLEL),
        ("--enforce_eager", Circumstance.EAGER),
        ("--async-scheduling", Circumstance.ASYNC_SCHEDULING),
        ("--disable-log-stats", Circumstance.NO_LOG_STATS),
        ("--api-server-count 4", Circumstance.API_SERVERS),
        ("--logits-processors a:B", Circumstance.LOGITS_PROCESSORS),
        ("--guided-decoding-backend lm-format-enforcer", Circumstance.LM_FORMAT_ENFORCER),
        (
            '--structured-outputs-config {"backend":"lm-format-enforcer"}',
            Circumstance.LM_FORMAT_ENFORCER,
        ),
    ],
)
def test_what_holds_of_a_server(words: str, circumstance: Circumstance) -> None:
    assert circumstances(subject(eagle(), flags=words)) == {circumstance}


@pytest.mark.parametrize(
    "words", ["", "--no-enable-lora", "--enable-lora --no-enable-lora", "--async-scheduling=false"]
)
def test_what_is_switched_off_does_not_hold(words: str) -> None:
    assert circumstances(subject(eagle(), flags=words)) == frozenset()


def test_the_second_runner_is_asked_for_in_the_environment() -> None:
    asked = subject(eagle(), environment={"VLLM_USE_V2_MODEL_RUNNER": "1"})
    refused = subject(eagle(), environment={"VLLM_USE_V2_MODEL_RUNNER": "0"})
    assert circumstances(asked) == {Circumstance.SECOND_RUNNER}
    assert circumstances(refused) == frozenset()


@pytest.mark.parametrize(
    ("trap", "config", "flags", "inside", "outside"),
    [
        ("DraftModelPipeline", draft(), "-pp 2", ("0.9.2",), ("0.10.0", "0.33.0")),
        ("AsyncScheduling", eagle(), "--async-scheduling", ("0.10.0", "0.11.0"), ("0.11.1",)),
        (
            "AsyncSchedulingHeadsOnly", draft(), "--async-scheduling",
            ("0.15.0",), ("0.11.0", "0.16.0"),
        ),
        ("AsyncSchedulingNoLookup", ngram(), "--async-scheduling", ("0.33.0",), ("0.15.1",)),
        ("LogitsProcessors", eagle(), "--logits-processors a:B", ("0.11.1",), ("0.11.0",)),
        ("EagerDrafts", eagle(), "--enforce-eager", ("0.8.5", "0.33.0"), ()),
        ("LoraNotDrafted", eagle(), "--enable-lora", ("0.33.0",), ()),
        ("ManyApiServers", ngram(), "--api-server-count 2", ("0.9.1",), ("0.9.0",)),
        ("SamplingRefused", ngram(), "", ("0.14.0",), ("0.13.0",)),
        ("SamplingNotDrafted", ngram(), "", ("0.13.0",), ("0.14.0",)),
        ("SuffixPackage", {"method": "suffix"}, "", ("0.33.0",), ()),
        ("DraftLength", eagle(max_model_len=4096), "", ("0.10.0",), ("0.9.2",)),
        ("ScheduleTax", eagle(**SCHEDULE), "", ("0.24.0",), ("0.23.0",)),
        (
            "AdaptiveVerificationLora", eagle(enable_adaptive_verification=True),
            "--enable-lora", ("0.28.0",), ("0.27.0",),
        ),
        (
            "AdaptiveVerificationPipeline", eagle(enable_adaptive_verification=True),
            "-pp 2", ("0.33.0",), ("0.27.0",),
        ),
        (
            "AdaptiveVerificationEager", eagle(enable_adaptive_verification=True),
            "--enforce-eager", ("0.33.0",), ("0.27.0",),
        ),
        (
            "LmFormatEnforcer", eagle(), "--guided-decoding-backend lm-format-enforcer",
            ("0.11.0",), ("0.10.1",),
        ),
    ],
)  # fmt: skip
def test_traps_of_a_release(
    trap: str,
    config: dict[str, object],
    flags: str,
    inside: tuple[str, ...],
    outside: tuple[str, ...],
) -> None:
    for version in inside:
        assert trap in found(config, version, flags), version
        assert not flags or trap not in found(config, version), version
    for version in outside:
        assert trap not in found(config, version, flags), version


def test_a_schedule_without_a_row_of_zero_costs_nothing_more() -> None:
    key = "num_speculative_tokens_per_batch_size"
    drafts = eagle(**{key: [[1, 39, 3], [40, 84, 2], [85, 1024, 1]]})
    assert "ScheduleTax" not in found(drafts, "0.24.0")
    stops = eagle(**{key: [[1, 39, 3], [40, 84, 0], [85, 1024, 1]]})
    assert "ScheduleTax" in found(stops, "0.24.0")


@pytest.mark.parametrize(
    ("config", "version", "stops"),
    [
        (ngram(), "0.30.0", True),
        (ngram(), "0.31.0", True),
        (ngram(), "0.32.0", False),
        (draft(), "0.30.0", True),
        (draft(), "0.31.0", False),
        (eagle(), "0.22.0", False),
        (eagle(parallel_drafting=True), "0.22.0", True),
        (eagle(parallel_drafting=False), "0.22.0", False),
        (eagle(**SCHEDULE), "0.24.0", True),
        (eagle(**SCHEDULE), "0.25.0", False),
        ({"method": "suffix"}, "0.33.0", True),
    ],
)
def test_what_the_second_runner_does_not_support(
    config: dict[str, object], version: str, stops: bool
) -> None:
    environment = {"VLLM_USE_V2_MODEL_RUNNER": "1"}
    got = found(config, version, environment=environment)
    assert any("SecondRunner" in name for name in got) is stops
    assert refuses(got.values()) is stops


def test_a_trap_names_the_key_that_it_is_about() -> None:
    finding = found(eagle(max_model_len=4096))["DraftLength"]
    assert (finding.flag, finding.value) == ("--speculative-config max_model_len", "4096")
    assert found(eagle(), flags="--enforce-eager")["EagerDrafts"].value == '"eagle"'


def test_without_speculation_nothing_but_the_release_is_judged() -> None:
    flags = "--enforce-eager --enable-lora --disable-log-stats -pp 2"
    assert found(None, flags=flags) == {}
