"""No config and no text makes a check fail, and every finding is a sentence of one line."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from ridgeline.engine.check_text import check_text
from ridgeline.engine.findings import refuses
from ridgeline.settings.engine_contract import load_engine_contracts
from tests.unit.engine.contracts import contract, found

VERSIONS = st.sampled_from([each.version for each in load_engine_contracts()])
KEYS = st.sampled_from(sorted(contract().keys)) | st.text(max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
METHODS = st.sampled_from(sorted(contract().method_names))
CONFIGS = st.dictionaries(KEYS, VALUES, max_size=6) | st.builds(
    lambda method, more: {"method": method, **more}, METHODS, st.dictionaries(KEYS, VALUES)
)


@given(config=CONFIGS, version=VERSIONS)
@example(config={"a\nb": 1}, version="0.33.0")
@example(config={"num_speculative_tokens": 10**400}, version="0.33.0")
def test_any_config_has_findings_of_one_line(config: dict[str, Any], version: str) -> None:
    got = found(config, version, "--max-num-batched-tokens 2048 --max-num-seqs 64").values()
    for finding in got:
        assert finding.sentence().isprintable(), finding
        assert finding.fix
    if not config:
        assert refuses(got)


@given(text=st.text(max_size=40) | VALUES.map(json.dumps), version=VERSIONS)
def test_any_text_is_a_config_or_has_one_finding(text: str, version: str) -> None:
    got = list(check_text(text, contract(version)))
    assert len(got) <= 1
    assert all(each.sentence().isprintable() for each in got)
    try:
        is_config = isinstance(json.loads(text), dict | None)
    except ValueError:
        is_config = text in ("", "None") and contract(version).empty_config_is_off
    assert is_config is not bool(got) or text.strip() == "{}"
