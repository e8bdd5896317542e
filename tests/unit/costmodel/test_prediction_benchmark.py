"""The benchmark of predictions: what it scores, what it skips, and what it prints."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.prediction import main, predict, report
from benchmarks.prediction_rules import RULES

COLUMNS = (
    "id,source,evidence,gpu,n_gpu,tp,model,arch,params_b,precision,engine,method,draft,k,tree_nodes,"
    "load_kind,load,dataset,acc_kind,acc,metric,unit,better,baseline,spec,speedup,speedup_lo,"
    "speedup_hi,quality,notes"
)
KNOWN = {
    "id": "R1",
    "source": "paper",
    "gpu": "H100-80GB",
    "tp": "1",
    "model": "Llama-3.1-8B-Instruct",
    "engine": "vLLM 0.10.1",
    "method": "eagle3",
    "k": "3",
    "load_kind": "batch",
    "load": "1",
    "dataset": "GSM8K",
    "metric": "token throughput ratio",
    "speedup": "1.75",
}
STEPS = """batch,k0_ms,k1_ms,k3_ms,k5_ms,best_k
1,6.521,7.368,8.841,10.326,3
64,7.774,9.656,13.498,16.831,1
256,14.491,27.138,41.848,57.404,0
"""


def written(folder: Path, *rows: dict[str, str]) -> Path:
    """A file of measurements; each row changes the known one."""
    path = folder / "cells.csv"
    names = COLUMNS.split(",")
    lines = [",".join((KNOWN | row).get(name, "") for name in names) for row in rows]
    path.write_text("\n".join([COLUMNS, *lines]) + "\n", encoding="utf-8")
    return path


def scores(path: Path) -> dict[str, Any]:
    return report(predict([path]))


def test_the_quietest_row_of_a_run_gives_its_acceptance_and_is_not_scored(tmp_path: Path) -> None:
    path = written(
        tmp_path, {"load": "64", "speedup": "1.49"}, {}, {"load": "128", "speedup": "1.22"}
    )
    found = scores(path)
    assert (found["all"]["n"], found["all"]["skipped"]) == (2, 1)
    assert found["skipped"] == {"its speed-up gives the acceptance of its run": 1}
    assert found["all"]["mape_percent"] < 10.0
    assert found["scopes"]["dense-chain-current"]["n"] == 2
    assert found["scopes"]["dense-chain-current"]["skipped"] == 1


@pytest.mark.parametrize(
    "told",
    [
        {"acc": "2.3", "acc_kind": "mean acceptance length"},
        {"acc": "0.62", "acc_kind": "per-token"},
        {"acc": "43%", "acc_kind": "acceptance rate"},
    ],
    ids=["length", "one rate", "share of drafts"],
)
def test_a_row_that_tells_its_acceptance_is_scored(tmp_path: Path, told: dict[str, str]) -> None:
    found = scores(written(tmp_path, told))
    assert found["all"]["n"] == 1
    assert found["all"]["mape_percent"] < 8.0


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({}, "no acceptance, and no other load of the same run to take it from"),
        ({"gpu": "Abacus"}, "GPU is not in the catalogue"),
        ({"model": "Unheard-of-9B"}, "model is not in the catalogue"),
        ({"method": "medusa"}, "method is not one of vLLM's"),
        ({"method": "draft_model", "draft": "a small one"}, "draft model is not named"),
        ({"k": ""}, "no lookahead"),
        ({"load_kind": "qps"}, "load is a rate of requests"),
        ({"load": "nan"}, "no load"),
        ({"speedup": "inf"}, "no speed-up"),
        ({"metric": "TTFT"}, "not a measure of decode speed"),
    ],
)
def test_what_cannot_be_scored_is_counted_with_its_reason(
    tmp_path: Path, odd: dict[str, str], reason: str
) -> None:
    found = scores(written(tmp_path, odd))
    assert found["all"]["n"] == 0
    assert found["all"]["mape_percent"] is None
    assert [each.startswith(reason) for each in found["skipped"]] == [True]


def test_a_latency_is_turned_into_a_speed_up(tmp_path: Path) -> None:
    row = {
        "speedup": "",
        "baseline": "14",
        "spec": "8",
        "better": "lower",
        "acc": "2.2",
        "acc_kind": "acceptance length",
        "metric": "TPOT",
    }
    found = predict([written(tmp_path, row)])
    assert found.scored[0].cell.observed == pytest.approx(1.75)


def test_other_engines_models_and_shapes_have_scopes_of_their_own(tmp_path: Path) -> None:
    told = {"acc": "2.5", "acc_kind": "acceptance length"}
    rows = (
        told | {"engine": "SGLang 0.4.4"},
        told | {"tree_nodes": "25"},
        told | {"model": "Mixtral-8x7B-Instruct-v0.1", "tp": "2", "method": "eagle"},
    )
    found = scores(written(tmp_path, *rows))
    assert {name: one["n"] for name, one in found["scopes"].items() if "-" not in name} == {
        "legacy": 1,
        "moe": 1,
        "trees": 1,
    }


def test_a_loss_is_found_and_rules_that_keep_on_regret_it(tmp_path: Path) -> None:
    told = {"acc": "1.2", "acc_kind": "acceptance length", "speedup": "0.8", "load": "16"}
    found = scores(written(tmp_path, told))
    assert (found["all"]["losses"], found["all"]["losses_found"]) == (1, 1)
    regret = {name: one["regret_percent"] for name, one in found["rules"].items()}
    assert regret["always on"] == pytest.approx(20.0)
    assert regret["fixed 20"] == pytest.approx(20.0)
    assert regret["goodput"] == regret["always off"] == regret["oracle"] == 0.0


def test_a_gain_that_is_turned_off_is_counted(tmp_path: Path) -> None:
    told = {"acc": "1.2", "acc_kind": "acceptance length", "speedup": "1.5", "load": "16"}
    found = scores(written(tmp_path, told))
    assert (found["all"]["gains"], found["all"]["gains_turned_off"]) == (1, 1)
    assert found["rules"]["goodput"]["regret_percent"] == pytest.approx(
        100 * (1 - 1 / 1.5), abs=1e-3
    )


def test_a_table_of_step_times_tells_the_best_lookahead(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_text(STEPS, encoding="utf-8")
    fixture = scores(path)["scopes"]["fixture"]
    assert fixture["best_k"] == fixture["best_k_measured"] == [3, 1, 0]
    assert fixture["n"] == 9
    assert fixture["step_mape_percent"] < 5.0


def test_every_rule_of_the_field_stands_beside_ours(tmp_path: Path) -> None:
    found = scores(written(tmp_path, {"acc": "2.2", "acc_kind": "acceptance length"}))
    assert set(found["rules"]) == {*RULES, "oracle"}
    assert len(found["rules"]) == 13


def test_the_json_is_one_object_with_the_promised_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, {"acc": "2.2", "acc_kind": "acceptance length"}, {"gpu": "?"})
    assert main([str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    promised = {"n", "skipped", "mape_percent", "p90_percent", "max_percent"}
    promised |= {"losses", "losses_found", "gains", "gains_turned_off"}
    for one in (found["all"], *found["scopes"].values()):
        assert promised <= set(one)
    assert all("regret_percent" in each for each in found["rules"].values())
    assert main([str(path), "--cells"]) == 0
    assert "R1" in capsys.readouterr().out


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "gone.csv")]) == 2
    assert "gone.csv" in capsys.readouterr().err
