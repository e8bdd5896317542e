"""A finding points at the line that is to be changed: the field, the argument, the profile."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ridgeline.cli.main import app

MANIFESTS = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: llama
spec:
  replicas: 2
  selector: {matchLabels: {app: llama}}
  template:
    metadata: {labels: {app: llama}}
    spec:
      containers:
        - name: side
          image: busybox:1
          args:
            - --speculative-config=x
        - name: vllm
          image: vllm/vllm-openai:v0.24.0
          args:
            - --model=meta-llama/Llama-3.1-8B-Instruct
            - --speculative_config={not json
            - 8
---
apiVersion: ridgeline.dev/v1alpha1
kind: SpeculativeServing
metadata:
  name: llama
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: llama, containerName: vllm}
  maxSwitchesPerDay: -3
  profiles:
    - name: eagle
      method: Eagle
      model: org/head
      numSpeculativeTokens: 0
    - name: none
      method: Disabled
      modle: x
"""

SCRIPT = """\
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Pod
    metadata: {name: other}
    spec: {containers: [{name: c, image: busybox}]}
  - apiVersion: v1
    kind: Pod
    metadata: {name: llama}
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.24.0
          command: [sh, -c]
          args:
            - |
              set -e
              exec vllm serve my/model \\
                --speculative-config '{not json'
"""


def found(text: str, tmp_path: Path) -> dict[str, int]:
    """Lines by what is wrong there."""
    file = tmp_path / "x.yaml"
    file.write_text(text)
    told = CliRunner().invoke(app, ["lint", str(file), "-o", "json"])
    assert told.exit_code == 1, told.output
    return {each["flag"]: each["at"] for each in json.loads(told.stdout)["findings"]}


def line(text: str, part: str) -> int:
    (at,) = [n for n, each in enumerate(text.splitlines(), 1) if part in each]
    return at


@pytest.mark.parametrize(
    ("flag", "part"),
    [
        ("spec.maxSwitchesPerDay", "maxSwitchesPerDay"),
        ("spec.profiles[0].numSpeculativeTokens", "numSpeculativeTokens"),
        ("spec.profiles[1].modle", "modle"),
        ("args[2]", "            - 8"),
        ("--speculative-config", "--speculative_config="),
    ],
)
def test_a_finding_has_the_line_of_its_field(flag: str, part: str, tmp_path: Path) -> None:
    lines = found(MANIFESTS, tmp_path)
    assert lines[flag] == line(MANIFESTS, part), lines


def test_a_flag_in_a_script_has_its_line_within_it(tmp_path: Path) -> None:
    lines = found(SCRIPT, tmp_path)
    assert line(SCRIPT, "--speculative-config") in lines.values(), lines


def test_what_is_missing_points_at_what_it_is_missing_in(tmp_path: Path) -> None:
    text = MANIFESTS.replace("      method: Eagle\n", "")
    lines = found(text, tmp_path)
    assert lines["spec.profiles[0].method"] == line(text, "- name: eagle")


def test_annotations_stand_at_that_line(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(MANIFESTS)
    told = CliRunner().invoke(app, ["lint", str(file), "-o", "github"]).stdout
    assert f"line={line(MANIFESTS, 'maxSwitchesPerDay')},title=SpecInvalid" in told


def test_yaml_says_what_json_says(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    file = tmp_path / "x.yaml"
    file.write_text(MANIFESTS)
    told = {
        form: CliRunner().invoke(app, ["lint", str(file), "-o", form]) for form in ("json", "yaml")
    }
    assert yaml.safe_load(told["yaml"].stdout) == json.loads(told["json"].stdout)
    assert {each.exit_code for each in told.values()} == {1}
