"""What `ridgeline advise -o yaml` prints is what a real API server takes, word for word."""

from pathlib import Path

import pytest

from tests.crd.kube import Kubectl
from tests.unit.cli.test_advise_command import page
from tests.unit.cli.test_advised_serving import ADVICE


@pytest.mark.parametrize("name", ["one head", "rates and schedule", "slice", "names"])
def test_advice_is_accepted_without_a_warning(server: Kubectl, tmp_path: Path, name: str) -> None:
    file = tmp_path / "serving.yaml"
    file.write_text(page(*ADVICE[name], "-o", "yaml"))
    answer = server.run(
        "apply", "--server-side", "--validate=strict", "--dry-run=server", f"--filename={file}"
    )
    assert (answer.code, answer.err) == (0, "")
