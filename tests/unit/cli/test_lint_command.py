"""`ridgeline lint` as a command: what it reads, what it prints, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.lint_inputs import (
    LLAMA,
    Body,
    Lint,
    container,
    eagle,
    flag,
    profile,
    serving,
    workload,
)
from tests.unit.cli.lint_inputs import target as deployment

ROOT = Path(__file__).parents[3]
BROKEN = workload(container(LLAMA, flag(eagle(num_speculative_tokens=0))))
DOUBTFUL = workload(container(LLAMA, flag(eagle()), "--enforce-eager"))
CLEAN = workload(container(LLAMA))


@pytest.mark.parametrize(
    ("body", "strict", "status"),
    [
        (CLEAN, False, 0),
        (CLEAN, True, 0),
        (DOUBTFUL, False, 0),
        (DOUBTFUL, True, 1),
        (BROKEN, False, 1),
        (BROKEN, True, 1),
    ],
)
@pytest.mark.parametrize("output", ["text", "json", "github"])
def test_the_status(body: Body, strict: bool, status: int, output: str, tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    options = ["--strict"] if strict else []
    assert lint.run(lint.file([body]), "-o", output, *options)[0] == status


def test_text_for_a_person(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    path = lint.file([CLEAN, BROKEN])
    _, stdout, stderr = lint.run(path)
    line = Path(path).read_text(encoding="utf-8").splitlines().index("---") + 2
    assert stderr == ""
    assert f"{path}:{line}: Deployment llama, container vllm\n" in stdout
    assert (
        "  error   LookaheadRange: --speculative-config num_speculative_tokens 0\n"
        "          vLLM 0.24.0 expects at least 1 and stops the start\n"
        "          → leave the whole config empty for no speculation\n"
    ) in stdout
    assert stdout.endswith("2 objects: 1 error, 3 remarks\n")
    assert lint.run(lint.file([CLEAN]))[1] == "1 object: nothing is wrong\n"


def args_line(path: str) -> int:
    lines = Path(path).read_text().splitlines()
    return 1 + next(index for index, each in enumerate(lines) if "--speculative-config" in each)


def test_json_for_tools(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    path = lint.file([BROKEN])
    document = json.loads(lint.run(path, "--output", "json")[1])
    assert {key: document[key] for key in ("schema", "objects", "errors", "warnings")} == {
        "schema": 1,
        "objects": 1,
        "errors": 1,
        "warnings": 0,
    }
    assert document["infos"] == len(document["findings"]) - 1
    assert document["findings"][0] == {
        "file": path,
        "line": 1,
        "at": args_line(path),
        "kind": "Deployment",
        "namespace": "",
        "name": "llama",
        "container": "vllm",
        "profiles": [],
        "check": "LookaheadRange",
        "severity": "Error",
        "flag": "--speculative-config num_speculative_tokens",
        "value": "0",
        "consequence": "vLLM 0.24.0 expects at least 1 and stops the start",
        "fix": "leave the whole config empty for no speculation",
    }


def test_annotations_for_github(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    path = lint.file([workload(container(LLAMA, "--speculative-config", "{%,:"))], "a,b:c%.yaml")
    lines = lint.run(path, "-o", "github")[1].splitlines()
    escaped = path.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    at = args_line(path)
    start = (
        f"::error file={escaped},line={at},title=ConfigNotJson::Deployment llama, container vllm: "
    )
    assert lines[0].startswith(start)
    assert '"{%25,:"' in lines[0]
    assert lines[-1] == "1 object: 1 error"


def test_folders_are_gone_through(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    for name in ("b/deep/x.yml", "a.yaml", "c.json", ".git/hidden.yaml", "b/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        lint.file(json.dumps(BROKEN), name)
    found = json.loads(lint.run(str(tmp_path), "-o", "json")[1])["findings"]
    files = [each["file"] for each in found if each["check"] == "LookaheadRange"]
    assert files == [str(tmp_path / name) for name in ("a.yaml", "b/deep/x.yml", "c.json")]


def test_standard_input_and_files_together(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    head = profile("Eagle3", model="yuhuili/EAGLE3-LLaMA3.1-Instruct-8B")
    rest = yaml.safe_dump(serving(head))
    status, stdout, _ = lint.run(lint.file([deployment()]), "-", "-", "-o", "json", stdin=rest)
    document = json.loads(stdout)
    assert (status, document["objects"]) == (0, 2)
    assert "TargetNotSeen" not in {each["check"] for each in document["findings"]}
    assert lint.run("-", stdin=json.dumps(BROKEN))[1].startswith("standard input:1: Deployment")


def test_a_serving_of_another_file_is_joined(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    files = [lint.file([serving(profile())], "s.yaml"), lint.file([deployment()], "d.yaml")]
    for order in (files, files[::-1]):
        assert "TargetNotSeen" not in lint.run(*order)[1]


def told(lint: Lint, *arguments: str, stdin: str | bytes | None = None) -> str:
    """Return the one line of a run that ends with status 2."""
    status, stdout, stderr = lint.run(*arguments, stdin=stdin)
    assert (status, stdout) == (2, "")
    assert stderr.startswith("ridgeline lint: ")
    assert stderr.count("\n") == 1
    return stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "is not YAML"),
        ("{{- if .Values.x }}\na: 1\n{{- end }}", "render it first"),
        (b"\xff\xfe\x00", "it is not UTF-8"),
        ("", "the file is empty"),
        ("# only words", "there is no container that runs vLLM"),
        ("a: 1", "among 1 objects there is no container"),
        ("- a\n- b", "among 0 objects"),
        ("a: 2024-99-99", "cannot be read"),
        ("a: &x [*x]", "holds itself"),
        ("a: " + "[" * 200 + "]" * 200, "levels deep"),
        ("[" * 9000, "nesting depth"),
        ("? [a]\n: b", "not YAML"),
        ("a: !!python/object:os.system x", "is not YAML"),
        ("a: \0", "is not YAML"),
    ],
)
def test_what_cannot_be_read(text: str | bytes, says: str, tmp_path: Path) -> None:
    assert says in told(Lint(tmp_path), "-", stdin=text)


def test_aliases_without_end(tmp_path: Path) -> None:
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    text = "\n".join(["a0: &a0 [x]", *rows])
    assert "aliases are written out" in told(Lint(tmp_path), "-", stdin=text)


def test_a_file_that_is_far_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ridgeline.cli.lint_files._LARGEST", 1 << 20)
    lint = Lint(tmp_path)
    assert "larger than 1 MiB" in told(lint, lint.file("#" * ((1 << 20) + 1)))


def test_options_that_cannot_be_read(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    path = lint.file([deployment(), serving(profile())])
    odd, list_ = lint.file("{", "odd.json"), lint.file("[]", "list.json")
    file = lint.model("m.json", vocab_size=3)
    for arguments, says in (
        (("--vllm", "new"), "--vllm new: write it as 0.24.0"),
        (("--engine-version", "new"), "--vllm new: write it as 0.24.0"),
        (("--accelerator", "h1000"), "the catalogue has no such GPU"),
        (("--model-config", odd), "is not JSON"),
        (("--model-config", list_), "it holds no object"),
        (("--model-config", "absent.json"), "--model-config absent.json cannot be read"),
        (("--draft-config", f"fast={odd}"), "is not JSON"),
        (("--draft-config", file, "--draft-config", file), "a second file for every profile"),
        (("--draft-config", f"other={file}"), "no profile other"),
    ):
        assert says in told(lint, path, *arguments)
    assert "absent.yaml cannot be read" in told(lint, "absent.yaml")


def test_a_folder_without_yaml(tmp_path: Path) -> None:
    assert "holds no file that ends in .yaml" in told(Lint(tmp_path), str(tmp_path))


def test_one_config_for_several_models_would_be_a_guess(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    path = lint.file([workload(container("org/a")), workload(container("org/b"))])
    says = told(lint, path, "--model-config", lint.model("m.json", vocab_size=3))
    assert "serves 2 models (org/a, org/b)" in says


def test_configs_of_several_drafts(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    two: list[Any] = [profile(name="a"), profile(name="b", numSpeculativeTokens=2)]
    path = lint.file([deployment(model="org/m"), serving(*two)])
    options = ["--model-config", lint.model("t.json", vocab_size=7, hidden_size=8)]
    options += ["--draft-config", lint.model("d.json", vocab_size=7, hidden_size=8)]
    options += ["--draft-config", f"b={lint.model('b.json', vocab_size=6, hidden_size=8)}"]
    found = json.loads(lint.run(path, *options, "-o", "json")[1])["findings"]
    assert [each["profiles"] for each in found if each["check"] == "Vocabulary"] == [["b"]]


def test_usage_that_is_wrong(tmp_path: Path) -> None:
    for arguments in ((), ("x.yaml", "-o", "xml"), ("x.yaml", "--nonsense")):
        assert Lint(tmp_path).run(*arguments)[0] == 2


def test_the_samples_are_clean(tmp_path: Path) -> None:
    status, stdout, _ = Lint(tmp_path).run(str(ROOT / "deploy" / "samples"), "--strict")
    assert status == 0, stdout
    assert "TargetNotSeen" not in stdout
    assert "PolicyNotSeen" not in stdout


def manifests_of(page: Path) -> str:
    """Return every manifest that a page shows."""
    blocks = page.read_text(encoding="utf-8").split("```yaml\n")[1:]
    return "---\n".join(each.partition("```")[0] for each in blocks if "apiVersion:" in each)


def test_the_readmes_first_serving_is_clean(tmp_path: Path) -> None:
    text = manifests_of(ROOT / "README.md")
    assert "SpeculativeServing" in text
    status, stdout, _ = Lint(tmp_path).run("-", "--strict", stdin=text)
    assert status == 0, stdout


def test_the_first_serving_of_the_docs_has_no_error(tmp_path: Path) -> None:
    text = manifests_of(ROOT / "docs" / "how-to" / "first-serving.md")
    status, stdout, _ = Lint(tmp_path).run("-", stdin=text)
    assert status == 0, stdout


def test_it_runs_as_a_program_in_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ridgeline.cli", "lint", "-"],
        input=yaml.safe_dump(BROKEN),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "LookaheadRange" in done.stdout
