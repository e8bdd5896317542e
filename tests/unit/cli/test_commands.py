"""Commands: what they say when they cannot do what was asked, and what they pass on."""

import socket
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from ridgeline import __version__
from ridgeline.cli.kubectl import app as kubectl
from ridgeline.cli.main import app as ridgeline
from ridgeline.settings.config import load_config

NOWHERE = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u, namespace: team}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    file = tmp_path / "kubeconfig"
    file.write_text(NOWHERE)
    return file


def test_the_version_is_printed() -> None:
    assert CliRunner().invoke(ridgeline, ["version"]).output.strip() == __version__


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("[]", "must hold a mapping"),
        ("telemetry: []", "telemetry"),
        ("telemetry: [{url: 'http://p'}]\ntickSeconds: 0", "tickSeconds"),
    ],
)
def test_a_bad_configuration_ends_with_one_line(
    tmp_path: Path, text: str | None, said: str
) -> None:
    file = tmp_path / "config.yaml"
    if text is not None:
        file.write_text(text)
    result = CliRunner().invoke(ridgeline, ["run", "--config", str(file)])
    assert result.exit_code == 1
    assert said in result.output
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize("option", ["--log-level", "--log-format"])
def test_an_unknown_choice_is_a_usage_error_that_names_the_choices(option: str) -> None:
    result = CliRunner().invoke(ridgeline, ["run", option, "loud"])
    assert result.exit_code == 2
    assert "loud" in result.output


def test_an_unreachable_api_server_is_told_in_one_line(kubeconfig: Path) -> None:
    for command in ("explain", "release"):
        result = CliRunner().invoke(kubectl, [command, "x", "--kubeconfig", str(kubeconfig)])
        assert result.exit_code == 1
        assert "did not answer" in result.output
        assert "/namespaces/team/" in result.output


def test_a_bad_address_of_prometheus_is_told(kubeconfig: Path) -> None:
    arguments = ["explain", "x", "--prometheus", "nonsense", "--kubeconfig", str(kubeconfig)]
    result = CliRunner().invoke(kubectl, arguments)
    assert result.exit_code == 2
    assert "--prometheus nonsense: it is not an http:// or https:// address" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ["lint", "none.x"],
        ["simulate", "--published", "8b", "--traffic", "none.csv"],
        ["simulate", "--file", "none.x"],
        ["cutoff", "--file", "none.x"],
        ["replay", "none.x"],
        ["record", "cut", "none.x", "--out", "cut.jsonl.gz"],
        ["calibrate", "fit", "none.x"],
        ["model", "describe", "none.x"],
        ["advise", "--model", "none.json", "--accelerator", "h100-sxm", "--method", "Eagle3:3"],
    ],
)
def test_a_file_that_cannot_be_read_is_wrong_usage_everywhere(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(ridgeline, words)
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr
    assert "No such file" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("app", [ridgeline, kubectl])
def test_a_choice_is_refused_in_plain_words(app: Typer) -> None:
    words = ["replay", "x", "-o", "foo"] if app is ridgeline else ["status", "-o", "foo"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "'foo' is not one of" in result.output
    assert "Value error" not in result.output


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (["stand-in", "--help"], "Usage: ridgeline stand-in serve MODEL"),
        (["stand-in", "serve", "-h"], "Usage: ridgeline stand-in serve MODEL"),
        (["load", "--help"], "usage: ridgeline load "),
    ],
)
def test_what_gets_its_own_arguments_has_help_under_its_name(words: list[str], usage: str) -> None:
    result = CliRunner().invoke(ridgeline, words)
    assert result.exit_code == 0
    assert result.output.startswith(usage)


@pytest.mark.parametrize("command", ["run", "check"])
def test_without_a_configuration_the_way_to_one_is_told(command: str, tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    result = CliRunner().invoke(ridgeline, [command, "--config", str(missing)])
    assert result.exit_code == 1
    assert "docs/how-to/run-locally.md" in result.output
    smallest = tmp_path / "config.yaml"
    smallest.write_text(result.output.split("`")[1])
    assert load_config(smallest).telemetry[0].url == "http://127.0.0.1:9090"
    assert result.output.startswith("ridgeline check: " if command == "check" else "ridgeline: ")


def test_the_stand_in_and_the_load_generator_get_their_own_arguments() -> None:
    assert (
        CliRunner().invoke(ridgeline, ["stand-in", "serve", "m", "--no-such-flag"]).exit_code == 2
    )
    assert CliRunner().invoke(ridgeline, ["load", "--no-such-flag"]).exit_code == 2


def test_a_port_in_use_is_told_in_one_line(tmp_path: Path, kubeconfig: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        file = tmp_path / "config.yaml"
        file.write_text(f"port: {port}\ntelemetry: [{{url: 'http://127.0.0.1:9'}}]\n")
        arguments = ["run", "--config", str(file), "--kubeconfig", str(kubeconfig)]
        result = CliRunner().invoke(ridgeline, arguments)
    assert result.exit_code == 1
    assert f"port {port} cannot be served" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["force", "llama"], "give one of the two: the profile to run, or --off"),
        (["force", "llama", "none", "--off"], "give one of the two: the profile to run"),
        (["force", "llama", "Bad_Name"], "'Bad_Name' is no name of a profile: lower-case"),
        (["force", "llama", "x" * 64], "is no name of a profile"),
        (["force", "llama", "none\n"], "is no name of a profile"),
        (["status", "llama", "-A"], "not both"),
        (["status", "--watch", "-o", "json"], "--watch shows a table"),
        (["status", "-o", "csv"], "csv"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_asked(words: list[str], said: str) -> None:
    result = CliRunner().invoke(kubectl, words)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize("command", ["status", "history", "suspend", "resume", "force"])
def test_every_verb_tells_in_one_line_that_the_server_is_not_there(
    kubeconfig: Path, command: str
) -> None:
    more = ["none"] if command == "force" else []
    result = CliRunner().invoke(kubectl, [command, "x", *more, "--kubeconfig", str(kubeconfig)])
    assert result.exit_code == 1
    assert "did not answer" in result.output
    assert len(result.output.strip().splitlines()) == 1
