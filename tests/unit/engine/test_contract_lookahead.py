"""Lookahead and schedule before the start."""

import pytest

from ridgeline.engine.check_subject import CheckedModel
from ridgeline.engine.findings import Severity, refuses
from tests.unit.engine.contracts import draft, eagle, found, ngram

SCHEDULE = "num_speculative_tokens_per_batch_size"


def scheduled(*rows: object, **more: object) -> dict[str, object]:
    return draft(**{SCHEDULE: list(rows), **more})


@pytest.mark.parametrize("lookahead", [0, -1, 129, 1000])
def test_a_lookahead_out_of_range(lookahead: int) -> None:
    got = found(ngram(num_speculative_tokens=lookahead))
    assert got["LookaheadRange"].severity is Severity.ERROR
    assert "KeyValue" not in got  # one mistake, one finding


def test_the_longest_draft_is_the_releases_own() -> None:
    assert "LookaheadRange" not in found(ngram(num_speculative_tokens=32), "0.10.2")
    assert "LookaheadRange" in found(ngram(num_speculative_tokens=33), "0.10.2")
    assert "LookaheadRange" not in found(ngram(num_speculative_tokens=128), "0.11.0")


@pytest.mark.parametrize("config", [{"method": "ngram"}, eagle(num_speculative_tokens=None)])
def test_a_lookahead_must_be_told(config: dict[str, object]) -> None:
    assert found(config)["LookaheadMissing"].severity is Severity.ERROR


@pytest.mark.parametrize("method", ["suffix", "mtp", "deepseek_mtp"])
def test_methods_that_bring_their_own(method: str) -> None:
    assert "LookaheadMissing" not in found({"method": method})
    assert method != "deepseek_mtp" or "LookaheadMissing" not in found({"method": method}, "0.9.2")


def test_a_head_trained_for_less() -> None:
    head = CheckedModel(trained_lookahead=3)
    assert found(eagle(), draft=head)["LookaheadAboveHead"].fix == "write 3 or less"
    assert "LookaheadAboveHead" not in found(eagle(num_speculative_tokens=3), draft=head)


@pytest.mark.parametrize(
    ("layers", "lookahead", "check"),
    [
        (2, 3, "LookaheadNotDivisible"),
        (2, 4, ""),
        (4, 2, ""),
        (1, 5, ""),
        (0, 1, "MtpMissing"),
    ],
)
def test_mtp_layers(layers: int, lookahead: int, check: str) -> None:
    config = {"method": "mtp", "num_speculative_tokens": lookahead}
    got = found(config, target=CheckedModel(mtp_layers=layers))
    assert {"LookaheadNotDivisible", "MtpMissing"} & set(got) == ({check} if check else set())
    assert "LookaheadNotDivisible" not in found(eagle(), target=CheckedModel(mtp_layers=3))


@pytest.mark.parametrize("method", ["eagle", "eagle3", "draft_model"])
def test_a_drafter_must_be_named(method: str) -> None:
    config = {"method": method, "num_speculative_tokens": 4}
    assert found(config)["ModelMissing"].severity is Severity.ERROR


def test_a_config_that_names_neither() -> None:
    only_k = {"num_speculative_tokens": 1}
    assert found({})["MethodMissing"].severity is Severity.ERROR
    assert found(only_k)["MethodMissing"].severity is Severity.WARNING
    assert found(only_k, target=CheckedModel(mtp_layers=0))["MethodMissing"].severity is (
        Severity.ERROR
    )
    assert "MethodMissing" not in found(only_k, target=CheckedModel(mtp_layers=1))


def test_the_shortest_n_gram_is_not_longer_than_the_longest() -> None:
    assert "LookupRange" in found(ngram(prompt_lookup_min=5, prompt_lookup_max=4))
    assert "LookupRange" not in found(ngram(prompt_lookup_min=4, prompt_lookup_max=4))


@pytest.mark.parametrize(
    "table", [[], [[1, 2]], "1-16:4", [[1, 16, 4.5]], [[1, 16, True]], [[1, 16, 4, 0]], {"1": 4}, 7]
)
def test_what_is_no_table(table: object) -> None:
    assert found(draft(**{SCHEDULE: table}))["ScheduleShape"].severity is Severity.ERROR


@pytest.mark.parametrize(
    ("rows", "check"),
    [
        ([[2, 8, 4]], "ScheduleStart"),
        ([[1, 8, 4], [8, 16, 2]], "ScheduleOverlap"),
        ([[1, 64, 4], [2, 3, 1]], "ScheduleOverlap"),
        ([[0, 8, 4]], "ScheduleRow"),
        ([[1, 8, -1]], "ScheduleRow"),
        ([[1, 8, 4], [20, 9, 2]], "ScheduleRow"),
    ],
)
def test_tables_that_stop_the_start(rows: list[list[int]], check: str) -> None:
    got = found(scheduled(*rows))
    assert got[check].severity is Severity.ERROR
    assert got[check].flag == f"--speculative-config {SCHEDULE}"


def test_rows_may_stand_in_any_order() -> None:
    assert not refuses(found(scheduled([17, 64, 2], [1, 16, 4])).values())


def test_a_gap_carries_the_k_before_it() -> None:
    finding = found(scheduled([1, 16, 4], [32, 64, 2]))["ScheduleGap"]
    assert finding.severity is Severity.WARNING
    assert "17 to 31 requests take the K of 4" in finding.consequence


def test_a_row_that_is_never_reached() -> None:
    table = scheduled([1, 16, 4], [17, 64, 2], [65, 512, 0])
    assert "65" in found(table, flags="--max-num-seqs 64")["ScheduleBeyondMaxNumSeqs"].consequence
    assert "ScheduleBeyondMaxNumSeqs" not in found(table, flags="--max-num-seqs 65")
    assert "ScheduleBeyondMaxNumSeqs" not in found(table)


def test_a_k_up_to_the_lookahead_is_not_cut() -> None:
    assert "ScheduleAboveLookahead" in found(scheduled([1, 16, 5]))
    assert "ScheduleAboveLookahead" not in found(scheduled([1, 16, 4]))


@pytest.mark.parametrize(
    ("version", "severity"), [("0.24.0", Severity.ERROR), ("0.26.0", Severity.WARNING)]
)
def test_several_engines_do_not_follow_a_table(version: str, severity: Severity) -> None:
    table = eagle(**{SCHEDULE: [[1, 16, 4], [17, 64, 0]]})
    assert found(table, version, "-dp 2")["ScheduleDataParallel"].severity is severity
    assert "ScheduleDataParallel" not in found(table, version, "-dp 1")


def test_a_method_that_does_not_follow_the_table() -> None:
    config = {"method": "suffix", SCHEDULE: [[1, 16, 4], [17, 64, 0]]}
    assert found(config)["ScheduleMethod"].severity is Severity.WARNING
    assert "ScheduleMethod" not in found(scheduled([1, 16, 4]))
    assert "ScheduleMethod" not in found({**config, "method": "deepseek_mtp"})


@pytest.mark.parametrize("version", ["0.12.0", "0.23.0"])
def test_a_release_without_tables_says_so_once(version: str) -> None:
    got = found(scheduled([5, 1, 1]), version)
    assert "KeyUnknown" in got
    assert not [name for name in got if name.startswith("Schedule")]
