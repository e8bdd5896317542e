"""The checks against the stand-in server: whatever a release refuses to start with is an error.

The stand-in has the engine's order of checks and its words, written apart from the checks here; the
facts of both are those of the contracts.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from ridgeline.engine.check_all import findings_of
from ridgeline.engine.check_subject import CheckedModel, Subject
from ridgeline.engine.contract import contract_of
from ridgeline.engine.findings import refuses
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.sim.stand_in.contract import contract_for, versions
from ridgeline.sim.stand_in.failures import StartError
from ridgeline.sim.stand_in.speculation import Surroundings, read_speculation
from tests.unit.engine.contracts import draft, eagle, ngram

SCHEDULE = "num_speculative_tokens_per_batch_size"
CONFIGS: tuple[Mapping[str, Any], ...] = (
    *(ngram(), eagle(), eagle(method="eagle3"), draft(), {"method": "suffix"}),
    *({"method": "mtp", "num_speculative_tokens": 1}, {"method": "deepseek_mtp"}),
    *({"method": "medusa", "model": "org/m", "num_speculative_tokens": 2}, {}, {"model": "org/m"}),
    *({"method": "ngram"}, {"method": "eagle", "num_speculative_tokens": 3}),
    *(ngram(num_speculative_tokens=n) for n in (-1, 0, 1, 16)),
    *(ngram(colour="blue"), ngram(enforce_eager=True), ngram(disable_by_batch_size=16)),
    *(draft(disable_by_batch_size=n) for n in (1, 2, 64)),
    *(ngram(prompt_lookup_min=a, prompt_lookup_max=b) for a, b in ((2, 4), (5, 4))),
    *(draft(draft_tensor_parallel_size=n) for n in (3, 4)),
    *(ngram(tensor_parallel_size=1), ngram(parallel_drafting=False)),
    *(
        draft(**{SCHEDULE: table})
        for table in (
            *([[1, 16, 4], [17, 64, 0]], [[2, 8, 4]], [[1, 8, 4], [8, 16, 2]], [[1, 8, 9]], []),
            *([[1, 8]], [[0, 8, 4]], [[1, 8, -1]], [[9, 1, 1]]),
        )
    ),
    *(eagle(method="eagel"), eagle(speculative_token_tree="[(0,)]"), draft(enforce_eager="x")),
)
STRICTER = {"KeyInternal", "KeyLoadsCode", "RunsNamedClass", "ModelMissing"}
"""Errors for what a release starts with and nobody should: they are judged, not refused."""


def stand_in_refuses(config: Mapping[str, Any], version: str) -> bool:
    around = Surroundings(
        target="org/target",
        tensor_parallel=4,
        data_parallel=1,
        missing_models=frozenset(),
        vocabulary={"org/target": 512, "org/draft": 512},
    )
    try:
        read_speculation(dict(config), contract=contract_for(version), around=around)
    except StartError:
        return True
    return False


def errors(config: Mapping[str, Any], version: str) -> set[str]:
    subject = Subject(
        contract=contract_of(load_engine_contracts(), version),
        config=config,
        words=("vllm", "serve", "org/target", "--tensor-parallel-size", "4"),
        target=CheckedModel(vocabulary=512, mtp_layers=1, model_type="llama"),
        draft=CheckedModel(vocabulary=512),
    )
    return {each.check for each in findings_of(subject) if refuses([each])}


@pytest.mark.parametrize("version", versions())
def test_what_stops_the_start_is_an_error(version: str) -> None:
    for config in CONFIGS:
        if stand_in_refuses(config, version):
            assert errors(config, version), config


@pytest.mark.parametrize("version", versions())
def test_an_error_stops_the_start(version: str) -> None:
    for config in CONFIGS:
        got = errors(config, version) - STRICTER
        if contract_for(version).ignores_unknown_keys:
            got -= {"KeyUnknown"}  # a misspelt key starts, and something else is served
        if not contract_for(version).validates_types:
            got -= {"MethodUnknown"}  # so does a misspelt method
        assert not got or stand_in_refuses(config, version), (config, got)
