"""`ridgeline calibrate`: from a grid to an AcceleratorProfile, the Job, and bad input."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

from ridgeline.api.accelerator import invalid_accelerator_fields, parse_accelerator
from ridgeline.cli import calibrate
from ridgeline.settings.catalogue import override_of
from tests.unit.cli.calibration_grids import TRUTH, cells, grid, text

RUNNER = CliRunner()


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
    result = RUNNER.invoke(calibrate.app, list(arguments), input=stdin)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def written(tmp_path: Path) -> Path:
    file = tmp_path / "grid.json"
    file.write_text(text(grid()))
    return file


class TestFit:
    def test_a_grid_gives_back_the_constants_that_it_was_made_with(self, written: Path) -> None:
        code, out, told = run("fit", str(written))
        assert code == 0, told
        body = yaml.safe_load(out)
        assert not invalid_accelerator_fields(body, strict=True)
        assert body["metadata"] == {"name": "h100-sxm"}
        override = override_of(parse_accelerator(body))
        assert override.measured is not None
        assert override.measured.told() == pytest.approx(TRUTH, rel=0.02)

    def test_what_was_measured_stands_beside_it(self, written: Path) -> None:
        _, out, told = run("fit", str(written))
        assert out.startswith("# NVIDIA H100 80GB HBM3 with vLLM 0.32.0: meta-llama/Llama-3.1-8B")
        assert "bandwidth reached: 74 % (else 81)" in told
        assert "host time of a step: 1400 µs (else 670)" in told
        assert "45 step times, missed by 0.0 % on average" in told

    def test_three_per_cent_of_noise_moves_little(self, tmp_path: Path) -> None:
        file = tmp_path / "grid.json"
        file.write_text(text(grid(noise=0.03)))
        code, out, told = run("fit", str(file))
        assert code == 0, told
        measured = yaml.safe_load(out)["spec"]["measured"]
        assert measured["memoryBandwidthPercent"] == pytest.approx(74, abs=4)
        assert measured["computePercent"] == pytest.approx(55, abs=4)
        assert measured["stepMicroseconds"] == pytest.approx(1400, rel=0.2)

    def test_a_job_s_log_is_read_too(self) -> None:
        log = "INFO 12-01 loading\ncalibrate: start 1 of 5\n" + text(grid()) + "\n"
        code, out, told = run("fit", "-", stdin=log)
        assert code == 0, told
        assert "computePercent: 55" in out

    def test_the_file_is_written_where_it_is_wanted(self, written: Path, tmp_path: Path) -> None:
        code, out, told = run("fit", str(written), "--out", str(tmp_path / "profile.yaml"))
        assert (code, out) == (0, ""), told
        assert "memoryBandwidthPercent: 74" in (tmp_path / "profile.yaml").read_text()

    def test_what_a_grid_does_not_tell_is_left_out_and_said(self, tmp_path: Path) -> None:
        without_drafts = [cell for cell in cells(0.0) if not cell["lookahead"]]
        file = tmp_path / "grid.json"
        file.write_text(text(grid(cells=without_drafts)))
        code, out, told = run("fit", str(file))
        assert code == 0, told
        assert "draftPassMicroseconds" not in out
        assert "host time of a draft pass: not told by these step times (250 µs stays)" in told

    def test_batches_that_were_not_there_are_left_out(self, tmp_path: Path) -> None:
        spoilt: list[dict[str, Any]] = cells(0.0)
        spoilt[3] |= {"preemptions": 2, "stepSeconds": 5.0}
        spoilt[7] |= {"meanBatch": 20.0, "stepSeconds": 5.0}
        file = tmp_path / "grid.json"
        file.write_text(text(grid(cells=spoilt)))
        code, out, told = run("fit", str(file))
        assert code == 0, told
        assert "memoryBandwidthPercent: 74" in out
        assert "left out: lookahead 0, batch 8: requests were preempted" in told
        assert "left out: lookahead 0, batch 128: 20.0 requests on average" in told

    def test_a_step_that_the_model_misses_is_named(self, tmp_path: Path) -> None:
        spoilt = cells(0.0)
        spoilt[20]["stepSeconds"] *= 1.6
        file = tmp_path / "grid.json"
        file.write_text(text(grid(cells=spoilt)))
        _, _, told = run("fit", str(file))
        assert "missed by -3" in told

    @pytest.mark.parametrize(
        ("content", "message", "status"),
        [
            ("", "it holds no JSON object", 2),
            ("{", "it holds no JSON object", 2),
            ("[1]", "it holds no JSON object", 2),
            ("{}", "version: it is missing; give the file that", 2),
            (text(grid(version=2)), "version: Input should be 1", 2),
            (text(grid(cells=[])), "cells: Tuple should have at least 1 item", 2),
            (text(grid(cells=cells(0.0)[:3])), "3 step times are too few", 1),
            (text(grid(tensorParallel=0)), "tensorParallel: Input should be greater than", 2),
            (text(grid(modelConfig={})), "modelConfig: ", 1),
            (text(grid(method="telepathy")), "method: 'telepathy' is none", 1),
            (text(grid(method="draft_model")), "draftConfig: it is not told", 1),
            (
                text(grid(cells=[{**cells(0.0)[0], "stepSeconds": 0}])),
                "cells.0.stepSeconds: Input should be greater than 0",
                2,
            ),
            (
                json.dumps(grid(cells=[{**cells(0.0)[0], "stepSeconds": float("nan")}])),
                "cells.0.stepSeconds: Input should be a finite number",
                2,
            ),
            (
                text(grid(cells=[{**c, "stepSeconds": c["stepSeconds"] / 4} for c in cells(0.0)])),
                "more than the whole of the data sheet's",
                1,
            ),
        ],
    )
    def test_bad_grids_get_one_message(
        self, tmp_path: Path, content: str, message: str, status: int
    ) -> None:
        file = tmp_path / "grid.json"
        file.write_text(content)
        code, out, told = run("fit", str(file))
        assert code == status
        assert out == ""
        assert message in told
        assert len(told.splitlines()) == 1

    def test_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        code, _, told = run("fit", str(tmp_path / "none.json"))
        assert code == 2
        assert "none.json cannot be read: No such file or directory" in told
        binary = tmp_path / "grid.json"
        binary.write_bytes(b"\xff\xfe")
        code, _, told = run("fit", str(binary))
        assert code == 2
        assert "grid.json is no text: give the file that `ridgeline calibrate measure`" in told

    def test_a_file_that_cannot_be_written(self, written: Path, tmp_path: Path) -> None:
        code, _, told = run("fit", str(written), "--out", str(tmp_path / "no" / "p.yaml"))
        assert code == 2
        assert "p.yaml cannot be written: No such file or directory" in told

    def test_a_gpu_that_nobody_knows(self, tmp_path: Path) -> None:
        file = tmp_path / "grid.json"
        file.write_text(text(grid(device="ACME X1")))
        code, _, told = run("fit", str(file))
        assert code == 2
        assert "the catalogue knows no 'ACME X1': name the GPU" in told
        assert run("fit", str(file), "--accelerator", "h100-sxm")[0] == 0


MANIFEST = ("manifest", "--image", "vllm/vllm-openai:v0.32.0", "--model", "org/m")


class TestManifest:
    def objects(self, *more: str) -> tuple[dict[str, Any], dict[str, Any]]:
        code, out, told = run(*MANIFEST, *more)
        assert code == 0, told
        config_map, job = yaml.safe_load_all(out)
        return config_map, job

    def test_the_job_runs_the_program_that_it_brings(self) -> None:
        config_map, job = self.objects("--draft", "org/head", "--method", "eagle3")
        compile(config_map["data"]["measure.py"], "measure.py", "exec")
        pod = job["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["command"][:2] == ["python3", "/ridgeline/measure.py"]
        plan = json.loads(container["command"][2])
        assert plan["lookaheads"] == [0, 1, 3, 5]
        assert plan["draft"] == "org/head"
        assert pod["restartPolicy"] == "Never"
        assert pod["volumes"][0]["configMap"]["name"] == config_map["metadata"]["name"]
        assert pod["automountServiceAccountToken"] is False

    def test_it_asks_for_as_many_gpus_as_the_engine_spans(self) -> None:
        _, job = self.objects("--tensor-parallel", "4", "--resource", "amd.com/gpu")
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert container["resources"] == {"limits": {"amd.com/gpu": "4"}}
        assert json.loads(container["command"][2])["engine"] == {"tensor_parallel_size": 4}

    def test_node_secret_and_cache_are_passed_on(self) -> None:
        _, job = self.objects(
            *("--node-label", "nvidia.com/gpu.product=NVIDIA-L4", "--secret", "hub"),
            *("--claim", "models", "-n", "inference"),
        )
        pod = job["spec"]["template"]["spec"]
        assert pod["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-L4"}
        assert pod["containers"][0]["envFrom"] == [{"secretRef": {"name": "hub"}}]
        assert {"name": "HF_HOME", "value": "/models"} in pod["containers"][0]["env"]
        assert job["metadata"]["namespace"] == "inference"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--draft", "org/head"), "say how it drafts with --method"),
            (("--method", "eagle3"), "name the head or draft model with --draft"),
            (("--method", "telepathy"), "give one of eagle, eagle3"),
            (("--lookaheads", "3"), "without --method nothing drafts"),
            (("--batches", "1,x"), "give whole numbers by commas"),
            (("--batches", "0,4"), "give numbers from 1 to 4096"),
            (("--engine", "{"), "it is not JSON"),
            (("--engine", "[1]"), "give an object of arguments"),
            (("--engine", '{"model":"x"}'), "model is the calibration's own"),
            (("--node-label", "gpu"), "write it as KEY=VALUE"),
            (("--namespace", "Bad NS"), "--namespace 'Bad NS': use small letters"),
            (("--name", "a.b"), "--name 'a.b': use small letters"),
            (("--secret", "Hub"), "--secret 'Hub': use small letters"),
            (("--claim", "a b"), "--claim 'a b': use small letters"),
            (("--image", "vllm\nrm"), "--image 'vllm\\nrm' is no name of an image"),
        ],
    )
    def test_bad_options_get_one_message(self, options: tuple[str, ...], message: str) -> None:
        code, out, told = run(*MANIFEST, *options)
        assert (code, out) == (2, "")
        assert message in told
        assert len(told.splitlines()) == 1


PROGRAM = """
import json, sys
plan = json.loads(sys.argv[1])
print("calibrate: start 1 of 1", file=sys.stderr)
print(open({grid!r}).read())
sys.exit({code})
"""


class TestMeasure:
    @pytest.fixture
    def program(self, monkeypatch: pytest.MonkeyPatch, written: Path) -> Any:
        def replaced(code: int = 0) -> None:
            made = PROGRAM.format(grid=str(written), code=code)
            monkeypatch.setattr(calibrate, "program", lambda: made)

        return replaced

    def measure(self, out: Path) -> tuple[int, str, str]:
        return run("measure", "--model", "m", "--out", str(out), "--python", sys.executable)

    def test_what_the_program_measured_is_written_and_can_be_fitted(
        self, program: Any, tmp_path: Path
    ) -> None:
        program()
        out = tmp_path / "out.json"
        code, _, told = self.measure(out)
        assert code == 0, told
        assert f"now: ridgeline calibrate fit {out}" in told
        assert run("fit", str(out))[0] == 0

    def test_a_program_that_ends_early_is_said(self, program: Any, tmp_path: Path) -> None:
        program(code=3)
        code, _, told = self.measure(tmp_path / "out.json")
        assert code == 1
        assert "ended with exit code 3" in told
        assert not (tmp_path / "out.json").exists()

    def test_without_vllm_the_way_out_is_named(self, tmp_path: Path) -> None:
        code, _, told = run("measure", "--model", "m", "--out", str(tmp_path / "x"))
        assert code == 2
        assert "has no vLLM: name a Python that has" in told


def test_each_command_tells_what_it_is_for() -> None:
    commands = typer.main.get_command(calibrate.app)
    names = commands.list_commands(None)  # type: ignore[attr-defined]
    assert set(names) == {"measure", "manifest", "fit"}
    for name in names:
        code, out, _ = run(name, "--help")
        assert code == 0
        assert "Usage" in out
