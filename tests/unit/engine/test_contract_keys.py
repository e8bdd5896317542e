"""Keys, values and methods against what a release accepts."""

import pytest

from ridgeline.engine.contract import KeyUse
from ridgeline.engine.findings import Severity, refuses, shown, worst_first
from tests.unit.engine.contracts import contract, draft, eagle, found, ngram


@pytest.mark.parametrize(
    ("version", "severity"),
    [
        ("0.9.0", Severity.ERROR),
        ("0.12.0", Severity.WARNING),
        ("0.15.0", Severity.WARNING),
        ("0.16.0", Severity.ERROR),
        ("0.33.0", Severity.ERROR),
    ],
)
def test_a_strange_key_is_refused_or_ignored(version: str, severity: Severity) -> None:
    finding = found(ngram(colour="blue"), version)["KeyUnknown"]
    assert finding.severity is severity
    assert finding.value == '"blue"'
    assert finding.fix == "remove it"
    assert ("ignores it in silence" in finding.consequence) is (severity is Severity.WARNING)


@pytest.mark.parametrize("version", ["0.12.0", "0.33.0"])
@pytest.mark.parametrize("key", ["num_speculative_tokrns", "num_speculative_token"])
def test_a_misspelt_key_is_an_error_even_where_it_is_ignored(version: str, key: str) -> None:
    finding = found({"method": "ngram", key: 4}, version)["KeyUnknown"]
    assert finding.severity is Severity.ERROR
    assert finding.fix == "write 'num_speculative_tokens'"


def test_keys_with_dashes_are_read_from_the_release_that_reads_them() -> None:
    config = {"method": "ngram", "num-speculative-tokens": 4}
    assert "KeyUnknown" in found(config, "0.25.0")
    assert not refuses(found(config, "0.26.0").values())


@pytest.mark.parametrize(
    ("version", "severity", "says"),
    [
        ("0.10.0", Severity.WARNING, "ignores it"),
        ("0.16.0", Severity.WARNING, "ignores it"),
        ("0.17.0", Severity.ERROR, "the key is gone"),
        ("0.33.0", Severity.ERROR, "the key is gone"),
    ],
)
def test_disable_by_batch_size(version: str, severity: Severity, says: str) -> None:
    finding = found(eagle(disable_by_batch_size=16), version)["DisableByBatchSize"]
    assert finding.severity is severity
    assert says in finding.consequence
    assert ("num_speculative_tokens_per_batch_size" in finding.fix) is (version == "0.33.0")


def test_a_key_without_effect_is_checked_all_the_same() -> None:
    got = found(eagle(disable_by_batch_size=1), "0.16.0")
    assert got["KeyValue"].severity is Severity.ERROR
    assert got["DisableByBatchSize"].severity is Severity.WARNING
    assert "KeyWithoutEffect" not in got


def test_disable_by_batch_size_works_up_to_0_9() -> None:
    got = found(eagle(disable_by_batch_size=16), "0.9.2")
    assert not {"DisableByBatchSize", "KeyUnknown", "KeyWithoutEffect"} & set(got)
    assert "KeyValue" in found(eagle(disable_by_batch_size=1), "0.9.2")


@pytest.mark.parametrize("key", ["draft_load_config", "code_revision"])
def test_keys_that_load_code_are_refused(key: str) -> None:
    value: object = {"load_format": "pt"} if key == "draft_load_config" else "main"
    finding = found(eagle(**{key: value}))["KeyLoadsCode"]
    assert finding.severity is Severity.ERROR
    assert finding.flag == f"--speculative-config {key}"


@pytest.mark.parametrize(
    "config",
    [
        {"method": "custom_class", "model": "pkg.Proposer", "num_speculative_tokens": 3},
        {"model": "pkg.Proposer", "num_speculative_tokens": 3},
    ],
)
def test_a_class_by_name_is_refused(config: dict[str, object]) -> None:
    assert found(config)["RunsNamedClass"].severity is Severity.ERROR


def test_a_model_by_its_bare_name_is_taken_for_a_class_up_to_0_25() -> None:
    config = draft(model="Llama-3.2-1B")
    assert "RunsNamedClass" in found(config, "0.25.0")
    assert "RunsNamedClass" not in found(config, "0.26.0")


def test_the_allow_list_has_nothing_that_runs_code_or_changes_answers() -> None:
    for version in ("0.8.5", "0.17.0", "0.33.0"):
        allowed = contract(version).extra_keys
        assert not allowed & {
            *("draft_load_config", "code_revision", "target_model_config", "draft_parallel_config"),
            *("rejection_sample_method", "synthetic_acceptance_rates", "acceptance_method"),
        }
    assert "draft_tensor_parallel_size" in contract().extra_keys
    uses = {key.use for key in contract().keys.values()}
    assert uses >= {KeyUse.EXTRA, KeyUse.PROFILE, KeyUse.LOADS_CODE, KeyUse.MEASURING}


@pytest.mark.parametrize("key", ["target_model_config", "draft_model_config"])
def test_keys_that_vllm_fills_are_refused(key: str) -> None:
    assert found(eagle(**{key: {}}))["KeyInternal"].fix == "remove it"


def test_the_wrong_name_for_the_drafters_size_gets_the_right_one() -> None:
    finding = found(draft(tensor_parallel_size=1))["KeyInternal"]
    assert finding.fix == "write draft_tensor_parallel_size"


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("num_speculative_tokens", "4", "a whole number"),
        ("num_speculative_tokens", 4.0, "a whole number"),
        ("num_speculative_tokens", True, "a whole number"),
        ("method", 3, "a text"),
        ("enforce_eager", "yes", "true or false"),
        ("suffix_decoding_max_spec_factor", float("inf"), "a number"),
        ("suffix_decoding_min_token_prob", 1.5, "at most 1"),
        ("suffix_decoding_min_token_prob", -0.5, "at least 0"),
        ("prompt_lookup_max", 0, "at least 1"),
        ("synthetic_acceptance_rates", [0.5, "x"], "a list of numbers"),
        ("synthetic_acceptance_rates", [0.5, 1.5], "at most 1"),
        ("draft_sample_method", "gumbel", "one of greedy, probabilistic"),
        ("target_model_config", 3, "an object"),
    ],
)
def test_values_of_a_wrong_kind_or_range(key: str, value: object, says: str) -> None:
    finding = found(eagle(**{key: value}))["KeyValue"]
    assert says in finding.consequence
    assert finding.severity is Severity.ERROR


def test_choices_are_those_of_the_release() -> None:
    assert "KeyValue" not in found(eagle(draft_sample_method="gumbel"), "0.21.0")
    assert "KeyValue" in found(eagle(rejection_sample_method="block"), "0.24.0")
    assert "KeyValue" not in found(eagle(rejection_sample_method="block"), "0.25.0")


def test_null_is_not_given() -> None:
    assert "KeyLoadsCode" not in found(eagle(draft_load_config=None))
    assert "KeyValue" not in found(eagle(enforce_eager=None))


@pytest.mark.parametrize("model", ["$MODEL", "org/${NAME}", "/models/$DRAFT/v1"])
def test_a_variable_that_only_a_shell_expands(model: str) -> None:
    finding = found(draft(model=model))["VariableNotExpanded"]
    assert finding.flag == "--speculative-config model"
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize("model", ["$(MODEL)", "org/model", "cost$", "org/$5"])
def test_what_names_no_variable_of_a_shell(model: str) -> None:
    assert "VariableNotExpanded" not in found(draft(model=model))


@pytest.mark.parametrize("value", ["synthetic", "fly"])
def test_acceptance_that_changes_answers_is_said(value: str) -> None:
    assert found(eagle(rejection_sample_method=value))["AnswersChanged"].severity is (
        Severity.WARNING
    )
    assert "AnswersChanged" not in found(eagle(rejection_sample_method="standard"))


@pytest.mark.parametrize(
    ("config", "lacks", "has"),
    [
        (draft(), "0.14.0", "0.15.0"),
        (draft(), "0.10.0", "0.9.2"),
        ({"method": "mtp", "num_speculative_tokens": 1}, "0.10.2", "0.11.0"),
        ({"method": "suffix"}, "0.11.0", "0.11.1"),
        (eagle(method="dflash"), "0.19.0", "0.20.0"),
        (eagle(method="medusa"), "0.33.0", "0.32.0"),
    ],
)
def test_a_method_is_refused_by_the_releases_that_lack_it(
    config: dict[str, object], lacks: str, has: str
) -> None:
    missing = {"MethodUnknown", "MethodNotImplemented"}
    got = found(config, lacks)
    assert missing & set(got)
    assert refuses(got.values())
    assert not missing & set(found(config, has))


def test_a_method_that_is_accepted_and_not_there_is_told_apart() -> None:
    finding = found(draft(), "0.13.0")["MethodNotImplemented"]
    assert "NotImplementedError" in finding.consequence
    assert finding.fix == "choose one of eagle, eagle3, ngram, mtp, suffix"


def test_a_release_that_checks_no_types_guesses_another_method() -> None:
    assert "guesses one" in found(eagle(method="eagel"), "0.9.0")["MethodUnknown"].consequence
    assert "stops the start" in found(eagle(method="eagel"), "0.9.1")["MethodUnknown"].consequence


def test_findings_come_worst_first_and_read_as_one_sentence() -> None:
    got = found(draft(colour="blue", disable_by_batch_size=16), "0.12.0").values()
    order = [each.severity for each in worst_first(got)]
    assert order == sorted(order, key=list(Severity).index)
    finding = found(ngram(colour="blue"))["KeyUnknown"]
    assert finding.sentence() == (
        'error: --speculative-config colour "blue": vLLM 0.33.0 does not know the key and stops '
        "the start; remove it"
    )


def test_a_long_value_is_cut() -> None:
    assert len(shown("x" * 500)) == 80
    assert shown(object()) == "<class 'object'>"
    assert shown("a\nb\x7f") == r'"a\nb\x7f"'


def test_a_plain_config_has_no_error_on_any_release_that_serves_it() -> None:
    for version in ("0.8.5", "0.11.0", "0.17.0", "0.24.0", "0.33.0", "0.40.0"):
        for config in (eagle(), ngram()):
            assert not refuses(found(config, version).values()), version
