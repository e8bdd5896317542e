"""CRDs of other projects, from the pinned Go modules that they are published in."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.errors import ClusterError


@dataclass(frozen=True, kw_only=True)
class Module:
    """A Go module of which only files are used.

    Attributes:
        path: Its path.
        version: Its version.
        checksum: What its content must hash to, as `go.sum` has it.
    """

    path: str
    version: str
    checksum: str

    def file(self, name: str) -> Path:
        """A file of the module, which is downloaded first where it is not there yet.

        Raises:
            ClusterError: It cannot be had, or is not what was pinned.
        """
        go = shutil.which("go")
        if go is None:
            raise ClusterError("Go is needed to download modules; install it (https://go.dev/dl/)")
        command = [go, "mod", "download", "-json", f"{self.path}@{self.version}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        answer = json.loads(done.stdout) if done.stdout else {"Error": done.stderr}
        if "Error" in answer:
            raise ClusterError(f"{self.path}@{self.version}: {answer['Error']}")
        if answer["Sum"] != self.checksum:
            raise ClusterError(f"{self.path}@{self.version} is {answer['Sum']}, not as pinned")
        return Path(answer["Dir"]) / name


ARGO_CD: Final = Module(
    path="github.com/argoproj/argo-cd/v3",
    version="v3.4.0",
    checksum="h1:yZwfaOIzE/aQTA52mOfeZQbribmyxKYvMgirQja4eX0=",
)
PROMETHEUS_OPERATOR: Final = Module(
    path="github.com/prometheus-operator/prometheus-operator",
    version="v0.85.0",
    checksum="h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
)
