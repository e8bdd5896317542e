"""The stand-in of every release starts with what is rendered for it, in every spelling.

It reads a command line by itself, with argparse as vLLM does: two readings meet here.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.engine.args_expand import expanded
from ridgeline.engine.args_reading import ArgsError, config_in_force, same_config
from ridgeline.engine.contract import contract_of
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, config_of
from ridgeline.engine.spelling import Spelling, spellings_of, words_of
from ridgeline.sim.stand_in.contract import contract_for, versions
from ridgeline.sim.stand_in.failures import StartError
from ridgeline.sim.stand_in.flags import parse_serve_arguments
from ridgeline.sim.stand_in.speculation import Surroundings, read_speculation
from tests.property.speculative_profiles import RELEASES, profiles_of

VERSIONS = st.sampled_from(versions())
AROUND = Surroundings(
    target="org/target",
    tensor_parallel=1,
    data_parallel=1,
    missing_models=frozenset(),
    vocabulary={},
)


@given(VERSIONS, st.data())
def test_every_spelling_reaches_the_server_as_the_profile(
    version: str, data: st.DataObject
) -> None:
    contract = contract_of(RELEASES, version)
    profile = data.draw(profiles_of(contract))
    spelling = data.draw(st.sampled_from(spellings_of(contract)))
    words = [expanded(word, {}) for word in words_of(profile, spelling, contract)]
    given_to_server = parse_serve_arguments(["serve", "m", *words], contract_for(version))

    assert same_config(given_to_server.speculative_config, config_of(profile) or None)


@pytest.mark.parametrize("version", versions())
def test_a_release_has_the_spellings_that_the_server_takes(version: str) -> None:
    contract = contract_of(RELEASES, version)
    words_by_spelling = {
        Spelling.SHORT: ["-sc", '{"method":"ngram","num_speculative_tokens":1}'],
        Spelling.ALIASES: ["--spec-method", "ngram", "--spec-tokens", "1"],
    }
    for spelling, words in words_by_spelling.items():
        try:
            parse_serve_arguments(["serve", "m", *words], contract_for(version))
        except StartError:
            assert spelling not in spellings_of(contract)
            with pytest.raises(ArgsError, match="has no flag"):
                config_in_force(words, contract=contract)
        else:
            assert spelling in spellings_of(contract)
            assert config_in_force(words, contract=contract)


WORDS = st.lists(
    st.sampled_from(
        [
            ("--speculative-config", '{"method":"ngram"}'),
            ('--speculative_config={"method":"ngram","num_speculative_tokens":2}',),
            ("--speculative-config={}",),
            ("--speculative-config=",),
            ("--speculative-config", "None"),
            ("--specu", '{"num_speculative_tokens":2}'),
            ("--speculative-config.method", "ngram"),
            ("--speculative_config.num_speculative_tokens=2",),
            ("--speculative-config.num_speculative_tokens", "x"),
            ("--speculative-config.a.b", "1"),
            ("-sc", '{"method":"ngram"}'),
            ("-sc.method", "mtp"),
            ("--spec-method", "ngram"),
            ("--spec-t=2",),
            ("--spec-tokens", "x"),
            ("--spec-model=m",),
            ("--speculative-config",),
            ("--port", "1"),
        ]
    ),
    max_size=3,
).map(lambda pairs: [word for pair in pairs for word in pair])


@given(VERSIONS, WORDS)
def test_what_is_read_is_what_the_server_reads(version: str, words: list[str]) -> None:
    contract = contract_of(RELEASES, version)
    try:
        read = config_in_force(words, contract=contract)
    except (ArgsError, InvalidSpeculativeConfigError):
        return  # stricter than the server, which lets the last of two contradicting ones hold
    try:
        served = parse_serve_arguments(["serve", "m", *words], contract_for(version))
    except StartError:
        # Releases before 0.10.1 end at an empty value, which means none here as everywhere.
        assert not contract.empty_config_is_off
        return
    assert same_config(read, served.speculative_config)


@given(VERSIONS, st.data())
def test_the_server_starts_with_every_profile_that_is_rendered(
    version: str, data: st.DataObject
) -> None:
    contract = contract_of(RELEASES, version)
    profile = data.draw(profiles_of(contract))
    config = config_of(profile)
    config.pop("draft_tensor_parallel_size", None)  # right or wrong by the target's own
    if not config:
        return

    read_speculation(config, contract=contract_for(version), around=AROUND)
