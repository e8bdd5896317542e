"""Shells complete both programs, and kubectl completes its plugin."""

import os

import pytest
from typer.testing import CliRunner

from ridgeline.cli import complete
from ridgeline.cli.kubectl import app as kubectl
from ridgeline.cli.main import app as ridgeline


def offered(words: str, at: int) -> list[str]:
    """What bash is offered for a word of a line."""
    environment = {
        "_RIDGELINE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(at),
    }
    result = CliRunner().invoke(ridgeline, [], prog_name="ridgeline", env=environment)
    assert result.exit_code == 0, result.output
    return result.stdout.split()


def test_commands_options_and_names_of_the_catalogues_are_offered() -> None:
    assert offered("ridgeline advi", 1) == ["advise"]
    assert offered("ridgeline advise --gpu-p", 2) == ["--gpu-price"]
    assert offered("ridgeline advise --accelerator h200", 3) == ["h200-sxm", "h200-nvl"]
    assert offered("ridgeline advise --model Qwen/Qwen3-32", 3) == ["Qwen/Qwen3-32B"]
    assert offered("ridgeline advise --method Eag", 3) == ["Eagle", "Eagle3"]


@pytest.mark.parametrize("app", [ridgeline, kubectl])
def test_both_programs_can_install_completion(app: object) -> None:
    result = CliRunner().invoke(app, ["--help"])  # type: ignore[arg-type]
    assert "--install-completion" in result.stdout


def test_kubectl_is_offered_commands_and_options() -> None:
    assert complete.candidates(["expl"]) == ("explain",)
    assert "cutoff" in complete.candidates([""])
    assert "cutoff" in complete.candidates([])
    assert complete.candidates(["explain", "--prom"]) == ("--prometheus",)


def test_kubectl_gets_candidates_and_then_a_directive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-ridgeline", "expl"])
    complete.main()
    assert capsys.readouterr().out == "explain\n:4\n"
    monkeypatch.setattr("sys.argv", ["kubectl_complete-ridgeline", "explain", "no'such"])
    complete.main()
    assert capsys.readouterr().out == ":0\n"


def test_completing_leaves_the_environment_as_it_was() -> None:
    before = dict(os.environ)
    complete.candidates(["expl"])
    assert dict(os.environ) == before
