"""A command line's speculative config, in every spelling that vLLM's parser takes."""

import pytest

from ridgeline.engine.args_reading import ArgsError, config_in_force
from ridgeline.engine.config_file import ConfigFileError, with_config_file, words_of_file
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError
from tests.unit.engine.contracts import contract

NGRAM = {"method": "ngram", "num_speculative_tokens": 3}
TEXT = '{"method":"ngram","num_speculative_tokens":3}'


@pytest.mark.parametrize(
    "words",
    [
        ("--speculative-config", TEXT),
        (f"--speculative_config={TEXT}",),
        (f"--speculative={TEXT}",),
        ("-sc", TEXT),
        ("--speculative-config.method", "ngram", "--speculative-config.num_speculative_tokens=3"),
        ("-sc.method=ngram", "--port", "1", "-sc.num_speculative_tokens", "3"),
        ("--spec-method", "ngram", "--spec-tokens", "3"),
        ("--spec_method=ngram", "--spec-t=3"),
        ("-sc", '{"method":"ngram"}', "--spec-tokens=3"),
        ("-sc.method=ngram", "--spec-tokens=3"),
        ("-sc", TEXT, "-sc", TEXT),
        ("-sc", TEXT, "-sc.method=ngram", "-sc.num_speculative_tokens=3"),
        ("--speculative-config=", "--spec-method=ngram", "--spec-tokens=3"),
        ("-sc", "$(CONFIG)"),
    ],
    ids=" ".join,
)
def test_one_config_in_many_spellings(words: tuple[str, ...]) -> None:
    read = config_in_force(
        ("vllm", "serve", "m", *words), environment={"CONFIG": TEXT}, contract=contract()
    )

    assert read == NGRAM


@pytest.mark.parametrize(
    "words", [(), ("--speculative-config=",), ("-sc", "None"), ("--port", "1")], ids=str
)
def test_no_speculation(words: tuple[str, ...]) -> None:
    assert config_in_force(words, contract=contract()) is None


@pytest.mark.parametrize(
    ("word", "config"),
    [
        ("-sc.a.b=1", {"a": {"b": 1}}),
        ("-sc.a=[[1,16,4]]", {"a": [[1, 16, 4]]}),
        ("-sc.a=true", {"a": True}),
        ('-sc.a="1"', {"a": "1"}),
        ("-sc.a=1,2", {"a": "1,2"}),
        ('-sc.a=1,"b":2', {"a": '1,"b":2'}),
        ("-sc.a+=1,2", {"a": ["1", "2"]}),
        ("-sc.a=", {"a": ""}),
        ("-sc.a=NaN", {"a": "NaN"}),
    ],
)
def test_the_value_of_a_key_is_json_if_it_is_any(word: str, config: object) -> None:
    assert config_in_force((word,)) == config


def test_elements_of_a_list_add_up() -> None:
    assert config_in_force(("-sc.a+=1,2", "-sc.a+", "3")) == {"a": ["1", "2", "3"]}


def test_a_key_takes_any_word_behind_it_and_the_whole_takes_no_flag() -> None:
    assert config_in_force(("-sc.a", "-x")) == {"a": "-x"}
    with pytest.raises(ArgsError, match="says nothing"):
        config_in_force(("-sc", "--port"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-sc",), "-sc says nothing: write its value"),
        (("--spec-tokens", "--port"), "--spec-tokens says nothing"),
        (("--spec-tokens=x",), "is no whole number"),
        (("--spec-tokens=" + "9" * 30,), "is no whole number"),
        (("-sc.=x",), "names no key"),
        (("-sc." + "a." * 20 + "b=1",), "deeper than any config"),
        (("-sc", "$(NAME)"), r"from \$\(NAME\), which is not known"),
        (("sh", "-c", f"vllm serve m -sc '{TEXT}'"), "in the script of a shell"),
    ],
)
def test_what_cannot_be_read_for_sure_is_told(words: tuple[str, ...], told: str) -> None:
    with pytest.raises(ArgsError, match=told):
        config_in_force(words)


@pytest.mark.parametrize(
    ("words", "version", "has"),
    [
        (("-sc", TEXT), "0.18.0", False),
        (("-sc", TEXT), "0.19.0", True),
        (("-sc.method=ngram",), "0.18.0", False),
        (("--spec-method=ngram",), "0.21.0", False),
        (("--spec-method=ngram",), "0.22.0", True),
        (("--speculative_config", TEXT), "0.8.5", True),
        (("--speculative", TEXT), "0.8.5", True),
    ],
)
def test_a_release_reads_its_own_spellings(words: tuple[str, ...], version: str, has: bool) -> None:
    if has:
        assert config_in_force(words, contract=contract(version))
        return
    with pytest.raises(ArgsError, match=f"vLLM {version} has no flag .*; write --speculative-"):
        config_in_force(words, contract=contract(version))


@pytest.mark.parametrize(
    "document",
    [
        {"speculative-config": TEXT},
        {"speculative_config": NGRAM},
        {"speculative-config.method": "ngram", "speculative-config.num_speculative_tokens": 3},
        {"spec-method": "ngram", "spec-tokens": 3},
        {"port": 1, "enforce-eager": True, "lora-modules": ["a", "b"], "speculative-config": NGRAM},
    ],
    ids=str,
)
def test_a_file_speaks_as_flags_do(document: dict[str, object]) -> None:
    words = with_config_file(("vllm", "serve", "m", "--config", "f.yaml"), document)

    assert config_in_force(words, contract=contract()) == NGRAM


def test_a_file_stands_before_the_other_flags() -> None:
    document = {"port": 1, "a": True, "b": False, "c": ["x", 2], "d": [], "e": None, "f": {"g": 1}}
    inserted = (
        *("--port", "1", "--a", "--no-b", "--c", "x", "2", "--e", "None", "--f", '{"g": 1}'),
    )

    assert words_of_file(document) == inserted
    assert words_of_file(None) == ()
    assert with_config_file(("vllm", "serve", "m", "-x"), document) == (
        *("vllm", "serve", "m", *inserted, "-x"),
    )
    assert with_config_file(("serve", "-x"), document) == ("serve", *inserted, "-x")
    assert with_config_file(("-x",), document) == (*inserted, "-x")


def test_a_file_is_not_expanded() -> None:
    words = with_config_file(("serve", "m"), {"speculative-config": {"revision": "$(A)$$"}})

    assert config_in_force(words, environment={"A": "x"}) == {"revision": "$(A)$$"}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([1], "no mapping"),
        ("port 1", "no mapping"),
        ({1: 2}, "no text"),
        ({"speculative-config.enforce_eager": True}, "as a key of speculative-config"),
        ({"speculative-config": True}, "as a key of speculative-config"),
        ({"x": {"y": float("nan")}}, "JSON cannot say"),
        ({"x": {"y": {1, 2}}}, "JSON cannot say"),
    ],
)
def test_what_vllm_would_misread_in_a_file_is_told(document: object, told: str) -> None:
    with pytest.raises(ConfigFileError, match=told):
        words_of_file(document)


def test_a_broken_config_in_a_file_is_told() -> None:
    words = with_config_file(("serve", "m"), {"speculative-config": "{method: ngram}"})

    with pytest.raises(InvalidSpeculativeConfigError, match="quotes are lost"):
        config_in_force(words)


def test_a_message_stays_on_one_line() -> None:
    for words in (
        ("-sc.a\n",),
        ("-sc.a\n=1", "-sc.a\n=2"),
        ("-sc", "$(A\n)"),
        ("-sc.a=1", "-sc.a.\n=2"),
    ):
        with pytest.raises(ArgsError) as told:
            config_in_force(words)
        assert str(told.value).isprintable()
