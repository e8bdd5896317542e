"""What GitOps tools run on objects, asked through the programs of tests/tools/gitops."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Programs:
    """The built programs.

    Attributes:
        folder: Where they lie.
    """

    folder: Path

    def lua(self, script: str, obj: Object) -> Any:
        """What a script returns for an object in Argo CD.

        Raises:
            ValueError: The script failed; the message is its own.
        """
        (result,) = self._ask("argolua", [{"script": script, "object": obj}])
        if "error" in result:
            raise ValueError(result["error"])
        return result["value"]

    def kstatus(
        self, objects: Sequence[Object], exprs: Mapping[str, str] | None = None
    ) -> list[str]:
        """The status of each object by kstatus, or in Flux with health check expressions."""
        told = self._ask("kstatus", {"objects": list(objects), "exprs": exprs})
        return [str(each["status"]) for each in told]

    def _ask(self, program: str, question: object) -> list[Any]:
        done = subprocess.run(
            [str(self.folder / program)],
            input=json.dumps(question),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        answer: list[Any] = json.loads(done.stdout)
        return answer
