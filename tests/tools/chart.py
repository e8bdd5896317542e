"""Write what the chart takes from elsewhere, or check that it is up to date.

python -m tests.tools.chart [--check]

The CRDs are copied from crds/, the schema of the operator's configuration comes from its model, and
docs/reference/chart-values.md from values.yaml and that schema.

Exit status: 0 when written or up to date, 1 when --check finds a difference.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ridgeline.settings.config import OperatorConfig
from tests.tools.chart_values import page
from tests.tools.page import bring_in_step

REPO = Path(__file__).resolve().parents[2]
CHART = REPO / "charts" / "ridgeline"
SCHEMA = CHART / "values.schema.json"
PAGE = REPO / "docs" / "reference" / "chart-values.md"
SET_BY_CHART = ("namespaces", "parents", "telemetry", "port")
"""Fields of the configuration that the chart fills in from other values."""


def operator_definitions() -> dict[str, Any]:
    """The schema of the operator's configuration, as definitions for the chart's schema.

    The configuration itself is `operator`; nothing in it is required, as the chart adds the rest.
    """
    schema = OperatorConfig.model_json_schema(by_alias=True)
    found = {_definition(name): each for name, each in schema.pop("$defs").items()}
    schema.pop("required", None)
    found["operator"] = schema
    return {name: _plain(each) for name, each in sorted(found.items())}


def schema_text(current: str) -> str:
    """The chart's schema, with the operator's definitions replaced by those of today."""
    schema = json.loads(current)
    own = {name: each for name, each in schema["$defs"].items() if not name.startswith("operator")}
    schema["$defs"] = {**own, **operator_definitions()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def wanted() -> dict[Path, str]:
    """Every generated file and its content."""
    schema = schema_text(SCHEMA.read_text())
    files = {SCHEMA: schema, PAGE: page((CHART / "values.yaml").read_text(), json.loads(schema))}
    for crd in sorted((REPO / "crds").glob("*.yaml")):
        files[CHART / "files" / "crds" / crd.name] = crd.read_text()
    return files


def surplus(files: dict[Path, str]) -> list[Path]:
    """Copies of CRDs that are no longer in crds/."""
    return [each for each in (CHART / "files" / "crds").glob("*") if each not in files]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="tests.tools.chart", description="Keep the chart true.")
    parser.add_argument("--check", action="store_true", help="write nothing, tell differences")
    options = parser.parse_args(arguments)
    files = wanted()
    return bring_in_step("tests.tools.chart", files, surplus(files), REPO, check=options.check)


def _definition(name: str) -> str:
    return f"operator{name.removesuffix('Config')}"


def _plain(node: Any) -> Any:
    """A schema without titles that repeat the names, and with our names of definitions."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {}
    for key, value in node.items():
        if key == "title" and isinstance(value, str):
            continue
        if key == "$ref":
            prefix, _, name = value.rpartition("/")
            kept[key] = f"{prefix}/{_definition(name)}"
        else:
            kept[key] = _plain(value)
    return kept


if __name__ == "__main__":
    sys.exit(main())
