"""In a container's arguments only our own flag changes, and what was added can be taken away."""

from collections.abc import Sequence

from hypothesis import assume, given
from hypothesis import strategies as st

from ridgeline.engine.args_mentions import mentions
from ridgeline.engine.args_reading import NOTHING, ArgsError, config_in_force, same_config
from ridgeline.engine.args_replace import replace_flag
from ridgeline.engine.contract import EngineContract
from ridgeline.engine.speculative_config import (
    InvalidSpeculativeConfigError,
    Profile,
    config_of,
    parse,
    render,
)
from ridgeline.engine.spelling import Spelling, spellings_of, words_of
from ridgeline.settings.engine_contract import load_engine_contracts
from tests.property.speculative_profiles import CONTRACTS, OTHERS, WILD_TEXT, profiles_of

NEWEST = load_engine_contracts()[-1]


@st.composite
def two_profiles(draw: st.DrawFn) -> tuple[EngineContract, Profile, Profile]:
    contract = draw(CONTRACTS)
    return contract, draw(profiles_of(contract)), draw(profiles_of(contract))


@st.composite
def argument_lists(draw: st.DrawFn, contract: EngineContract, profile: Profile) -> list[str]:
    """Draw other words with a profile among them, in some spelling of the release."""
    words = words_of(profile, draw(st.sampled_from(spellings_of(contract))), contract)
    return [*draw(OTHERS), *words, *draw(OTHERS)]


@given(two_profiles(), st.data())
def test_only_our_flag_changes(
    drawn: tuple[EngineContract, Profile, Profile], data: st.DataObject
) -> None:
    contract, old, new = drawn
    args = data.draw(argument_lists(contract, old))
    changed = replace_flag(args, render(new))

    assert _others(changed) == _others(args)
    assert same_config(config_in_force(changed), parse(render(new)))
    if same_config(config_of(old), config_of(new)):
        assert changed == tuple(args)


@given(two_profiles(), st.data())
def test_a_second_time_changes_nothing(
    drawn: tuple[EngineContract, Profile, Profile], data: st.DataObject
) -> None:
    contract, old, new = drawn
    args = data.draw(argument_lists(contract, old))
    changed = replace_flag(args, render(new))

    assert replace_flag(changed, render(new)) == changed


@given(OTHERS, two_profiles())
def test_what_was_added_goes_without_a_trace(
    others: list[str], drawn: tuple[EngineContract, Profile, Profile]
) -> None:
    _, first, second = drawn
    added = replace_flag(others, render(first))

    assert replace_flag(added, "") == tuple(others)
    assert replace_flag(replace_flag(added, render(second)), "") == tuple(others)


@given(two_profiles(), st.sampled_from(Spelling), OTHERS, OTHERS)
def test_a_whole_config_keeps_its_place_and_its_spelling(
    drawn: tuple[EngineContract, Profile, Profile],
    spelling: Spelling,
    before: list[str],
    after: list[str],
) -> None:
    contract, old, new = drawn
    whole = set(Spelling) - {Spelling.DOTTED, Spelling.DOTTED_EQUALS, Spelling.ALIASES}
    assume(spelling in spellings_of(contract) and spelling in whole)
    assume(config_of(old) and config_of(new))
    args = (*before, *words_of(old, spelling, contract), *after)

    assert replace_flag(args, render(new)) == (*before, *words_of(new, spelling, contract), *after)


WORDS = st.lists(
    st.sampled_from(
        [
            *("--speculative-config", "--speculative_config=", "-sc", "--speculative-config={}"),
            *("--speculative-config.method", "--speculative-config.method=mtp", "eagle", "4", "{"),
            *("--spec-method", "--spec-tokens=3", "--spec-tokens", "--spec-model", "-sc.a.b", "--"),
            *('{"method":"ngram"}', "'{}'", "--speculative", "None", "null", "sh", "-c", "$(A)"),
            *("--speculative-config.a+=1,2", "--speculative-config.", "--config", "x.yaml", "-1"),
            *('vllm serve m --speculative-config \'{"method":"mtp"}\' "$@"', 'exec "$@"', "-$(A)"),
            '{"method":"custom_class","model":"a"}',
        ]
    )
    | WILD_TEXT,
    max_size=6,
)
ENVIRONMENTS = st.dictionaries(
    st.just("A"), st.sampled_from(["", "-sc", "{}", "--speculative-config={}", "sc={}", "$(A)"])
)


REFUSED = (ArgsError, InvalidSpeculativeConfigError)


def check_message(error: Exception) -> None:
    assert 20 < len(str(error)) < 500
    assert "\n" not in str(error)


@given(
    args=WORDS,
    command=WORDS,
    config=st.sampled_from(["", '{"method":"ngram","num_speculative_tokens":3}', "{", "$"]),
    environment=ENVIRONMENTS,
    config_file=st.none() | st.dictionaries(st.sampled_from(["port", "spec-tokens"]), WILD_TEXT),
)
def test_any_words_are_changed_safely_or_refused_with_one_message(
    args: list[str],
    command: list[str],
    config: str,
    environment: dict[str, str],
    config_file: object,
) -> None:
    try:
        changed = replace_flag(
            args, config, command=command, environment=environment, config_file=config_file
        )
    except REFUSED as error:
        check_message(error)
        return
    assert _others(changed, environment) == _others(args, environment)
    read = config_in_force(changed, environment=environment)
    assert same_config(read, parse(config))
    again = replace_flag(
        changed, config, command=command, environment=environment, config_file=config_file
    )
    assert again == changed


@given(WORDS, ENVIRONMENTS)
def test_any_words_are_read_or_refused_with_one_message(
    words: list[str], environment: dict[str, str]
) -> None:
    try:
        config = config_in_force(words, environment=environment, contract=NEWEST)
    except REFUSED as error:
        check_message(error)
        return
    assert config is None or isinstance(config, dict)


def test_a_word_of_another_flag_is_not_ours() -> None:
    for words in (["--speculative-config-file=x"], ["--spec", "x"], ["-scx"], ["--spec-m", "x"]):
        assert replace_flag(words, "") == tuple(words)
        assert mentions(words, NOTHING) == ()


def _others(words: Sequence[str], environment: dict[str, str] | None = None) -> list[str]:
    ours = {
        each.first + offset
        for each in mentions(words, environment or NOTHING)
        for offset in range(each.words)
    }
    return [word for index, word in enumerate(words) if index not in ours]


def test_an_empty_flag_is_no_speculation_already() -> None:
    args = ("serve", "--speculative-config=")

    assert replace_flag(args, "") == args


def test_an_empty_object_stops_the_start_and_goes() -> None:
    assert replace_flag(("serve", "--speculative-config={}"), "") == ("serve",)
