"""`ridgeline model describe`: a config.json becomes the model stanza of a serving."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from ridgeline.api.serving import parse_serving
from ridgeline.cli.main import app
from tests.unit.cli.test_advise_command import CONFIG


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["model", "describe", *arguments], input=stdin)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "my-llama"
    folder.mkdir()
    path = folder / "config.json"
    path.write_text(json.dumps(CONFIG))
    return path


def stanza(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found = yaml.safe_load(result.stdout)
    assert isinstance(found, dict)
    return found


def test_the_stanza_fits_below_spec_of_a_serving(file: Path) -> None:
    told = stanza(run(str(file)))
    assert told == {
        "model": {
            "shape": {
                "layers": 32,
                "hiddenSize": 4096,
                "vocabularySize": 128256,
                "parametersMillions": 8030,
                "kvElementsPerToken": 65536,
            },
            "precision": "FP8",
        }
    }
    body = {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "SpeculativeServing",
        "metadata": {"name": "x"},
        "spec": {
            "targetRef": {"name": "x"},
            "profiles": [{"name": "none", "method": "Disabled"}],
            **told,
        },
    }
    parse_serving(body, strict=True)


def test_folder_standard_input_and_json_say_the_same(file: Path) -> None:
    told = stanza(run(str(file)))
    assert stanza(run(str(file.parent))) == told
    assert stanza(run("-", stdin=json.dumps(CONFIG))) == told
    assert json.loads(run(str(file), "-o", "json").stdout) == told


def test_comments_say_what_told_the_precision_and_which_model_is_alike(file: Path) -> None:
    text = run(str(file)).stdout
    assert "# precision: quantization_config of fp8" in text
    assert "meta-llama/Meta-Llama-3-8B" in text
    file.write_text(json.dumps({**CONFIG, "quantization_config": None}))
    assert "# no precision" in run(str(file)).stdout


def test_a_name_in_the_file_cannot_leave_its_comment(file: Path) -> None:
    file.write_text(json.dumps({**CONFIG, "_name_or_path": "a\nmodel: {name: evil}\x1b[31m"}))
    result = run(str(file))
    assert list(stanza(result)) == ["model"]
    assert "evil" not in yaml.safe_dump(stanza(result))
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("org/Model-1.5B", "org/Model-1.5B"),
        ("/models/mine/", "models/mine"),
        ("a $x^2$ <b>", "ax2b"),
        ("./", "my-llama"),
        ("模型", "my-llama"),
        (7, "my-llama"),
    ],
)
def test_a_model_is_called_as_the_file_says_else_as_its_folder(
    file: Path, told: object, name: str
) -> None:
    file.write_text(json.dumps({**CONFIG, "_name_or_path": told}))
    assert run(str(file)).stdout.splitlines()[0] == f"# {name}, from its config.json"


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("{", 2, "is not JSON"),
        ("[]", 2, "holds no JSON object"),
        ("[" * 100_000, 2, "is not JSON"),
        ('{"model_type": "llama"}', 1, "num_hidden_layers"),
        ('{"hybrid_override_pattern": "M-M"}', 1, "hybrid_override_pattern"),
    ],
)
def test_what_is_no_config_is_one_line_with_the_way_out(
    file: Path, text: str, status: int, said: str
) -> None:
    file.write_text(text)
    result = run(str(file))
    assert result.exit_code == status
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_file_that_is_not_there_or_far_too_large_is_told(tmp_path: Path) -> None:
    assert "No such file" in run(str(tmp_path / "none.json")).stderr
    large = tmp_path / "large.json"
    large.write_text(" " * (5 * 1024 * 1024))
    assert "larger than 4 MiB" in run(str(large)).stderr


def test_a_byte_order_mark_is_taken_off(file: Path) -> None:
    told = stanza(run(str(file)))
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert stanza(run(str(file))) == told


@pytest.mark.parametrize("broken", [[1], "fp8", False, 5])
@pytest.mark.parametrize("inner", [True, False])
def test_a_broken_quantization_is_refused_by_name(file: Path, broken: object, inner: bool) -> None:
    wrong = {**CONFIG, "quantization_config": broken}
    file.write_text(json.dumps({"text_config": wrong} if inner else wrong))
    result = run(str(file))
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"its quantization_config is {str(broken)!r} and no JSON object" in result.stderr


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"quantization_config": {"quant_method": "gptq"}}, "of gptq, without the key bits, which"),
        ({"quantization_config": {"quant_method": "awq", "bits": "4"}}, "of awq, bits '4', which"),
        ({"model_type": None}, "# no model_type is told: its keys were read as those of Llama"),
        ({"model_type": "llamb"}, "# model type 'llamb' is not known: its keys"),
    ],
)
def test_what_a_config_does_not_tell_is_said_in_plain_words(
    file: Path, changed: dict[str, object], said: str
) -> None:
    file.write_text(json.dumps({**CONFIG, **changed}))
    result = run(str(file))
    assert result.exit_code == 0, result.output
    assert said in result.stdout
    assert "None" not in result.stdout
