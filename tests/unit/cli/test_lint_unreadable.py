"""What lint says of a file that is none of Kubernetes objects, in words of a person."""

from pathlib import Path

import pytest

from ridgeline.cli.lint_files import plain_yaml
from tests.unit.cli.lint_inputs import LLAMA, Lint, container, workload

TWICE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llama}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.24.0
          args: [serve]
          "args": [serve, other]
"""


def told(lint: Lint, *arguments: str) -> str:
    """Return the one line of a run that ends with status 2."""
    status, stdout, stderr = lint.run(*arguments)
    assert (status, stdout) == (2, "")
    assert stderr.count("\n") == 1
    return stderr


@pytest.mark.parametrize(
    ("text", "line", "key", "first"),
    [
        (TWICE, 11, "args", 10),
        ("kind: Deployment\n---\nkind: Deployment\nspec: {}\nkind: StatefulSet\n", 5, "kind", 3),
        ("a: {b: 1, c: 2, b: 3}\n", 1, "b", 1),
        ("a: &a {b: 1}\nc: [*a, *a]\n2: x\n'2': y\n", 4, "2", 3),
        ("d: 1\nd: 2\nc: 3\nc: 4\n", 2, "d", 1),
    ],
)
def test_a_doubled_key_is_one_error(
    text: str, line: int, key: str, first: int, tmp_path: Path
) -> None:
    lint = Lint(tmp_path)
    path = lint.file(text)
    says = told(lint, path)
    assert f"{path}: line {line}: the key {key} stands there again, after line {first}" in says


def test_keys_of_several_mappings_and_merges_are_not_doubled(tmp_path: Path) -> None:
    text = "a: &a {x: 1}\nb: &b {x: 2}\nc:\n  <<: *a\n  <<: *b\n  y: 1\n---\na: [{x: 1}, {x: 1}]\n"
    lint = Lint(tmp_path)
    assert "there is no container that runs vLLM" in told(lint, lint.file(text))


def test_a_configuration_file_of_the_engine_takes_the_last_of_a_key() -> None:
    assert plain_yaml("a: 1\na: 2\n", "the file") == {"a": 2}


def test_an_empty_file(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    empty = lint.file(" \n", "empty.yaml")
    assert told(lint, empty) == f"ridgeline lint: {empty}: the file is empty\n"
    assert "all files are empty" in told(lint, empty, lint.file("", "other.yaml"))
    full = lint.file([workload(container(LLAMA))])
    assert lint.run(empty, full)[0] == 0


@pytest.mark.parametrize("text", ["# A title\n\n`code`\n", "Just some words.\n", "a: b: c\n"])
def test_plain_text(text: str, tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    path = lint.file(text, "README.md")
    says = told(lint, path)
    assert f"{path} is no YAML of Kubernetes objects: give manifests" in says


def test_what_is_not_yaml_names_the_file_and_the_line(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    path = lint.file("a: 1\nb: [\n")
    says = told(lint, path)
    assert "unicode string" not in says
    assert f"in {path}, line 3" in says


def test_a_number_of_thousands_of_digits(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    says = told(lint, lint.file("a: " + "9" * 5000))
    assert "a number has thousands of digits: put it in quotes" in says
    assert "sys." not in says
