"""Every spelling of a profile is read back as that profile, in every release that reads it."""

import yaml
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.engine.args_expand import escaped, expanded, undefined
from ridgeline.engine.args_reading import config_in_force
from ridgeline.engine.config_file import with_config_file
from ridgeline.engine.contract import EngineContract
from ridgeline.engine.speculative_config import (
    Profile,
    config_of,
    config_text,
    parse,
    profile_of,
    render,
)
from ridgeline.engine.spelling import Spelling, file_of, read_profile, spellings_of, words_of
from ridgeline.engine.spelling_profile import profile_from, render_for
from tests.property.speculative_profiles import CONTRACTS, OTHERS, WILD_TEXT, profiles_of


@st.composite
def served(draw: st.DrawFn) -> tuple[EngineContract, Profile]:
    contract = draw(CONTRACTS)
    return contract, draw(profiles_of(contract))


@given(served())
def test_the_text_of_a_profile_is_read_back(drawn: tuple[EngineContract, Profile]) -> None:
    contract, profile = drawn
    text = render_for(profile, contract)

    assert profile_from(parse(text), contract, name=profile.name) == profile
    assert profile_of(text, (profile,)) == profile
    assert text == render(profile) == config_text(config_of(profile))


@given(served(), st.sampled_from(Spelling), OTHERS, OTHERS)
def test_every_spelling_of_a_profile_is_read_back(
    drawn: tuple[EngineContract, Profile],
    spelling: Spelling,
    before: list[str],
    after: list[str],
) -> None:
    contract, profile = drawn
    if spelling not in spellings_of(contract):
        return
    words = words_of(profile, spelling, contract)

    assert read_profile(words, contract, name="p") == profile
    assert read_profile((*before, *words, *after), contract, name="p") == profile
    assert words == words_of(profile, spelling, contract)


@given(served(), st.data())
def test_the_order_of_keys_and_extras_does_not_change_the_bytes(
    drawn: tuple[EngineContract, Profile], data: st.DataObject
) -> None:
    contract, profile = drawn
    shuffled = dict(data.draw(st.permutations(list(config_of(profile).items()))))
    read = profile_from(shuffled or None, contract, name="p")

    assert render(read) == render(profile)


@given(served(), OTHERS)
def test_a_file_is_read_back(drawn: tuple[EngineContract, Profile], others: list[str]) -> None:
    contract, profile = drawn
    document = yaml.safe_load(file_of(profile, contract))
    nested = {"speculative_config": config_of(profile)} if document else {}

    for each in (document, nested, {"port": 1, **nested}):
        words = with_config_file(("serve", "m", *others), each)
        assert read_profile(words, contract, name="p") == profile


@given(served())
def test_a_variable_is_read_as_its_value(drawn: tuple[EngineContract, Profile]) -> None:
    contract, profile = drawn
    known = {"SPECULATION_CONFIG": render(profile), "K": "1"}

    for words in (
        ("--speculative-config=$(SPECULATION_CONFIG)",),
        ("-sc", "$(SPECULATION_CONFIG)"),
    ):
        read = config_in_force(words, environment=known)
        assert profile_from(read, contract, name="p") == profile


@given(WILD_TEXT | st.text("$()A ", max_size=8), st.dictionaries(st.just("A"), WILD_TEXT))
def test_an_escaped_text_reaches_the_server_as_it_is(text: str, known: dict[str, str]) -> None:
    assert expanded(escaped(text), known) == text
    assert undefined(escaped(text), known) == ()


@given(WILD_TEXT)
def test_a_text_that_looks_like_a_variable_is_none(value: str) -> None:
    config = {"method": "ngram", "num_speculative_tokens": 3, "revision": f"{value}$(A)$"}
    word = f"--speculative-config={escaped(config_text(config))}"

    assert config_in_force((word,), environment={"A": value}) == config
