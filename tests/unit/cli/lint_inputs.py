"""Manifests for `ridgeline lint`, and what it says of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from ridgeline.cli.main import app

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
LARGE = "meta-llama/Llama-3.3-70B-Instruct"
READS = "--speculative-config=$(SPECULATION_CONFIG)"

Body = dict[str, Any]


def eagle(**more: Any) -> Body:
    return {"method": "eagle", "model": "org/head", "num_speculative_tokens": 4, **more}


def draft(**more: Any) -> Body:
    return {"method": "draft_model", "model": "org/draft", "num_speculative_tokens": 4, **more}


def flag(config: Mapping[str, Any]) -> str:
    """Return the flag with a config, in one word."""
    return f"--speculative-config={json.dumps(config)}"


def container(*args: Any, image: str = "vllm/vllm-openai:v0.24.0", **fields: Any) -> Body:
    return {
        "name": "vllm",
        "image": image,
        "command": ["vllm", "serve"],
        "args": list(args),
        **fields,
    }


def workload(*containers: Body, kind: str = "Deployment", pod: Body | None = None) -> Body:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "llama"},
        "spec": {"template": {"spec": {"containers": list(containers), **(pod or {})}}},
    }


def target(*args: Any, model: str = LLAMA, **fields: Any) -> Body:
    """Return a Deployment that takes a profile and drains as it should."""
    pod = {"terminationGracePeriodSeconds": 120, **fields.pop("pod", {})}
    deployment = workload(
        container(
            *(model, READS, "--shutdown-timeout=60", *args),
            **{
                "envFrom": [{"configMapRef": {"name": "no-speculation"}}],
                "lifecycle": {"preStop": {"sleep": {"seconds": 10}}},
                **fields,
            },
        ),
        pod=pod,
    )
    deployment["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    return deployment


def default(value: str = "", name: str = "no-speculation") -> Body:
    return config_map(name, {"SPECULATION_CONFIG": value})


def config_map(name: str, data: Mapping[str, str]) -> Body:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data)}


def serving(*profiles: Body, name: str = "llama", **spec: Any) -> Body:
    return {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "SpeculativeServing",
        "metadata": {"name": name},
        "spec": {
            "targetRef": {"name": "llama"},
            "profiles": [*profiles, {"name": "none", "method": "Disabled"}],
            **spec,
        },
    }


def policy(name: str = "shared", **spec: Any) -> Body:
    return {
        "apiVersion": "ridgeline.dev/v1alpha1",
        "kind": "SpeculationPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def profile(method: str = "Eagle", **more: Any) -> Body:
    return {
        "name": "fast",
        "method": method,
        "model": "org/head",
        "numSpeculativeTokens": 4,
        **more,
    }


class Lint:
    """Runs the command on files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, content: str | Sequence[Body], name: str = "input.yaml") -> str:
        """Write a file and return its path."""
        path = self.folder / name
        path.write_text(
            content if isinstance(content, str) else yaml.safe_dump_all(content), encoding="utf-8"
        )
        return str(path)

    def model(self, name: str, **config: Any) -> str:
        """Write a config.json and return its path."""
        return self.file(json.dumps(config), name)

    def run(self, *arguments: str, stdin: str | bytes | None = None) -> tuple[int, str, str]:
        """Return status, standard output and standard error."""
        result = CliRunner().invoke(app, ["lint", *arguments], input=stdin, catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    def found(self, bodies: Sequence[Body] | str, *options: str) -> list[Body]:
        """Return the findings of the JSON report."""
        status, stdout, stderr = self.run(self.file(bodies), "-o", "json", *options)
        assert status in (0, 1), stderr
        findings: list[Body] = json.loads(stdout)["findings"]
        assert status == any(each["severity"] == "Error" for each in findings)
        return findings

    def checks(self, bodies: Sequence[Body] | str, *options: str) -> dict[str, Body]:
        """Return the findings by the name of their check."""
        return {each["check"]: each for each in self.found(bodies, *options)}
