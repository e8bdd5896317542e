"""Each test that the threat model names is there."""

from __future__ import annotations

import re

import pytest

from tests.cluster.paths import REPO

PAGE = (REPO / "docs" / "security.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", PAGE)))
THREATS = (
    "A tenant who may edit servings",
    "A hostile Pod that exports false metrics",
    "A compromised Prometheus",
    "A stolen token of the operator",
)


@pytest.mark.parametrize("named", NAMED)
def test_it_is_there(named: str) -> None:
    path, _, test = named.partition("::")
    text = (REPO / path).read_text()
    assert not test or re.search(rf"^ *(async )?def {test}\(", text, re.MULTILINE), named


@pytest.mark.parametrize("threat", THREATS)
def test_every_threat_has_its_part_with_tests(threat: str) -> None:
    part = PAGE.split(f"## {threat}\n")[1].split("\n## ")[0]
    assert len(re.findall(r"`tests/[\w/]+\.py", part)) >= 4, threat


def test_every_row_of_a_threat_names_a_control() -> None:
    for line in PAGE.splitlines():
        cells = [each.strip() for each in line.strip("|").split("|")]
        if len(cells) == 3 and not set(cells[0]) <= {"-"}:
            assert cells[0], line
            assert cells[1], line
