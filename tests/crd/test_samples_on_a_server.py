"""Every sample is what a real API server takes, word for word."""

from pathlib import Path

import pytest

from tests.crd.kube import Kubectl

SAMPLES = Path(__file__).parents[2] / "deploy" / "samples"
FILES = sorted(path for path in SAMPLES.glob("*.yaml") if path.stem != "kustomization")


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_a_sample_is_accepted_without_a_warning(server: Kubectl, file: Path) -> None:
    answer = server.run(
        "apply", "--server-side", "--validate=strict", "--dry-run=server", f"--filename={file}"
    )
    assert (answer.code, answer.err) == (0, "")


def test_all_samples_together_are_created(kubectl: Kubectl) -> None:
    answer = kubectl.run("apply", "--server-side", "--validate=strict", f"--kustomize={SAMPLES}")
    assert (answer.code, answer.err) == (0, "")
    kubectl.ok("delete", "accel", "--all")
