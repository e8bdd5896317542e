"""`ridgeline record`: usage, and what is said when something is wrong."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ridgeline.cli.moments import moment
from ridgeline.cli.record import app
from ridgeline.telemetry.record_read import read_record
from ridgeline.telemetry.record_write import write_record
from tests.unit.telemetry.record_ticks import HEADER, NOW, ticks


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, " ".join(result.output.split())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "r.jsonl.gz"
    write_record(path, HEADER, [*ticks(8), *ticks(8, serving="qwen")])
    return path


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("now", 1000.0),
        ("30s", 970.0),
        ("10m", 400.0),
        ("1970-01-01T00:10:00Z", 600.0),
        ("1970-01-01T01:10:00+01:00", 600.0),
    ],
)
def test_moments_can_be_written_in_several_ways(text: str, seconds: float) -> None:
    assert moment(text, 1000.0) == seconds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yesterday", "is no time"),
        ("2026-11-29T08:00", "has no time zone"),
        ("-2h", "is no time"),
        ("", "is no time"),
    ],
)
def test_a_moment_that_cannot_be_read_is_told(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        moment(text, 1000.0)


def test_a_serving_is_cut_out(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "cut.jsonl.gz"
    code, said = run("cut", str(file), "--serving", "inference/qwen", "--out", str(out))
    assert (code, said) == (0, f"{out}: 8 ticks")
    assert list(read_record(out)) == ticks(8, serving="qwen")


def test_a_time_is_cut_out(file: Path, tmp_path: Path) -> None:
    """From the first moment on, and not the last one itself: pieces that adjoin share no tick."""
    out = tmp_path / "cut.jsonl.gz"
    since, until = "2027-01-15T08:00:30Z", "2027-01-15T08:01:15Z"
    assert moment(since, 0) == NOW + 30
    run("cut", str(file), "--from", since, "--to", until, "--out", str(out))
    found = {each.at - NOW for each in read_record(out)}
    assert found == {30.0, 45.0, 60.0}


def test_nothing_to_cut_is_told_with_what_there_is(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "cut.jsonl.gz"
    code, said = run("cut", str(file), "--serving", "inference/none", "--out", str(out))
    assert code == 1
    assert "it tells of inference/llama, inference/qwen" in said
    assert not out.exists()


def test_damage_is_told_and_the_rest_is_cut(file: Path, tmp_path: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])
    out = tmp_path / "cut.jsonl.gz"
    code, said = run("cut", str(file), "--out", str(out))
    assert code == 0
    assert "the file is cut" in said
    assert list(read_record(out))


@pytest.mark.parametrize("serving", ["llama", "a/b/c", "/llama", "a/"])
def test_a_serving_needs_its_namespace(file: Path, tmp_path: Path, serving: str) -> None:
    code, said = run("cut", str(file), "--serving", serving, "--out", str(tmp_path / "x"))
    assert code == 2
    assert "is not NAMESPACE/NAME" in said


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_a_moment_to_cut_at_names_its_option(file: Path, tmp_path: Path, option: str) -> None:
    code, said = run("cut", str(file), option, "soon", "--out", str(tmp_path / "x"))
    assert code == 2
    assert f"{option}: 'soon' is no time" in said


UNREACHED = "ridgeline record: cannot reach http://127.0.0.1:1: connection refused"
PODS = ["--prometheus", "http://127.0.0.1:1", "-n", "a", "--out", "f", "--pod-regex"]
PAST = ["--prometheus", "http://127.0.0.1:1", "-n", "a", "--target", "llama"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "give one of --prometheus and --config"),
        (["--prometheus", "http://p", "--config", "c.yaml"], 2, "give one of --prometheus"),
        (["--prometheus", "http://p"], 2, "give --namespace, --out"),
        ([*PAST, "--pod-regex", "x", "--out", "f"], 2, "one of --target and --pod-regex"),
        (["--prometheus", "foo", "-n", "a"], 2, "--prometheus foo: it is not an http"),
        (["--prometheus", "http://hush:hush@p"], 2, "--prometheus: it holds a user name"),
        ([*PAST, "--out", "f", "--from", "soon"], 2, "--from: 'soon' is no time"),
        ([*PAST, "--out", "f", "--to", "soon"], 2, "--to: 'soon' is no time"),
        ([*PAST, "--out", "f", "--from", "now", "--to", "2h"], 2, "--to 2h lies before --from now"),
        ([*PAST, "--out", "f", "--from", "300d", "--step", "1"], 2, "use a longer --step"),
        ([*PAST, "--out", "f", "-n", "A_b"], 2, "--namespace 'A_b': it is no name"),
        ([*PAST, "--out", "f", "--target", "a b"], 2, "--target 'a b': it is no name"),
        ([*PODS, "["], 2, "--pod-regex '[': it is no regular expression"),
        ([*PODS, ""], 2, "--pod-regex '': it is empty"),
        ([*PODS, "a(?!b)"], 2, "Prometheus has no look-around"),
        ([*PAST, "--out", "f"], 1, f"{UNREACHED}; check the address of Prometheus"),
        # What Python's regular expressions do not have and Prometheus's do is asked for.
        ([*PODS, r"a(?i)b\pL"], 1, UNREACHED),
        (["--config", "no-such.yaml"], 2, "cannot be read"),
    ],
)
def test_what_is_wrong_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments)[0] == code
    assert said in run(*arguments)[1]
    assert "hush" not in run(*arguments)[1]
    assert list(tmp_path.iterdir()) == []


def test_the_configuration_may_name_the_endpoint(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("telemetry: [{name: eu, url: 'http://127.0.0.1:1'}]\n")
    rest = ["-n", "a", "--target", "llama", "--out", str(tmp_path / "f")]
    code, said = run("--config", str(file), "--endpoint", "us", *rest)
    assert code == 2
    assert "has no endpoint 'us'" in said
    code, said = run("--config", str(file), "--endpoint", "eu", *rest)
    assert code == 1
    assert "check the address of Prometheus" in said
