"""What a run on the real engine saw, kept in `seen.json`, of which a reference page is made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.engine.cases import Case, contract_for, said_before

FILE: Final = Path(__file__).with_name("seen.json")


def read() -> dict[str, Any]:
    """Return what was seen last, part by part; empty where nothing was."""
    if not FILE.exists():
        return {}
    told: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return told


def judged(version: str, cases: Sequence[Case], found: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep what a release's own configuration made of every case."""
    rows = [
        {
            "case": case.name,
            "engine": "accepted" if found[case.name]["accepted"] else found[case.name]["message"],
            "ridgeline": said_before(case, contract_for(version)) or "",
        }
        for case in cases
    ]
    before = read().get("judged", {}).get("releases", {})
    _keep("judged", {"releases": {**before, version: rows}})


def served(profile: str, seen: Mapping[str, Any]) -> None:
    """Keep what one served profile showed."""
    before = read().get("served", {}).get("profiles", {})
    _keep("served", {"profiles": {**before, profile: dict(seen)}})


def cut_over(steps: Sequence[Mapping[str, Any]]) -> None:
    """Keep the steps of a cut-over."""
    _keep("cutOver", {"steps": [dict(step) for step in steps]})


def _keep(part: str, seen: Mapping[str, Any]) -> None:
    told = read()
    told[part] = {"asOf": datetime.now(tz=UTC).date().isoformat(), **seen}
    text = json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False)
    FILE.write_text(_without_paths(text) + "\n", encoding="utf-8")


def _without_paths(text: str) -> str:
    """Return a text without what is this machine's or this run's: folders, addresses."""
    from tests.engine.environment import home

    text = text.replace(str(home() / "models"), "/models").replace(str(home()), "…")
    return re.sub(r" at 0x[0-9a-f]+", "", text)
