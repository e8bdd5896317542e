"""The shape of a /metrics page: family names, types, label names, fixed label values, buckets.

As a program it makes a fixture from a page recorded from a real server:
``python tests/component/sim/exposition_shape.py PAGE "where the page is from" > FIXTURE``
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

FIXED_VALUES = (
    "position",
    "reason",
    "source",
    "sleep_state",
    "finished_reason",
    "engine",
    "handler",
    "method",
    "status",
)
"""Labels whose values belong to the contract; other values are names and sizes of one server."""

_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def exposition_shape(page: str) -> dict[str, Any]:
    """Family by family, without Python's and the process's own, which describe the machine."""
    kinds: dict[str, str] = {}
    shape: dict[str, dict[str, Any]] = {}
    for line in page.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            kinds[name] = kind
        elif line and not line.startswith("#"):
            match = _SAMPLE.match(line)
            assert match, line
            _add_sample(shape, kinds, match[1], dict(_LABEL.findall(match[2] or "")))
    return {
        name: {
            "type": entry["type"],
            "samples": sorted(entry["samples"]),
            "labels": sorted(entry["labels"]),
            "values": {k: sorted(v) for k, v in sorted(entry["values"].items())},
            "buckets": entry["buckets"],
        }
        for name, entry in sorted(shape.items())
    }


def _add_sample(
    shape: dict[str, dict[str, Any]], kinds: dict[str, str], sample: str, labels: dict[str, str]
) -> None:
    family = sample
    if sample not in kinds:
        family = re.sub(r"_(bucket|count|sum)$", "", sample)
    if family.startswith(("python_", "process_")):
        return
    entry = shape.setdefault(
        family,
        {"type": kinds[family], "samples": set(), "labels": set(), "values": {}, "buckets": []},
    )
    bucket = labels.pop("le", None)
    if bucket is not None and bucket not in entry["buckets"]:
        entry["buckets"].append(bucket)
    entry["samples"].add(sample)
    entry["labels"] |= labels.keys()
    for name in FIXED_VALUES:
        if name in labels:
            entry["values"].setdefault(name, set()).add(labels[name])


def read_fixture(name: str) -> dict[str, Any]:
    """The shape kept in a fixture beside this file."""
    text = (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
    shape: dict[str, Any] = json.loads(text)["shape"]
    return shape


if __name__ == "__main__":
    page_shape = exposition_shape(Path(sys.argv[1]).read_text(encoding="utf-8"))
    families = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in page_shape.items())
    print(f'{{"source": {json.dumps(sys.argv[2])},\n"shape": {{\n{families}\n}}}}')
