"""Our own flag in a container's arguments: found in every spelling, replaced, added, removed."""

import pytest

from ridgeline.engine.args_reading import ArgsError
from ridgeline.engine.args_replace import replace_flag
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, LoadsCodeError

OLD = '{"method":"eagle","model":"o/h","num_speculative_tokens":4}'
NEW = '{"method":"ngram","num_speculative_tokens":3}'

SPELLINGS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("--speculative-config", OLD), ("--speculative-config", NEW)),
    ((f"--speculative-config={OLD}",), (f"--speculative-config={NEW}",)),
    (("--speculative_config", OLD), ("--speculative_config", NEW)),
    ((f"--speculative_config={OLD}",), (f"--speculative_config={NEW}",)),
    (("-sc", OLD), ("-sc", NEW)),
    ((f"-sc={OLD}",), (f"-sc={NEW}",)),
    (("--speculative", OLD), ("--speculative", NEW)),
    (("--speculative-config", "$(ANY)"), ("--speculative-config", NEW)),
    (("--speculative-config", "not json"), ("--speculative-config", NEW)),
    (("--speculative-config.method", "eagle"), (f"--speculative-config={NEW}",)),
    (("--speculative_config.method=eagle",), (f"--speculative-config={NEW}",)),
    (("-sc.method", "eagle"), (f"--speculative-config={NEW}",)),
    (("--spec-method", "mtp"), (f"--speculative-config={NEW}",)),
    (("--spec_tokens=3",), (f"--speculative-config={NEW}",)),
)


@pytest.mark.parametrize(("old", "new"), SPELLINGS, ids=[each[0][0][:30] for each in SPELLINGS])
def test_every_spelling_is_replaced_in_its_place_and_removed(
    old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    before, after = ("serve", "m", "--port=1"), ("--x", "-y", "{ }")

    assert replace_flag((*before, *old, *after), NEW) == (*before, *new, *after)
    assert replace_flag((*before, *old, *after), "") == (*before, *after)


def test_a_flag_that_is_missing_comes_last() -> None:
    assert replace_flag(("serve", "m"), NEW) == ("serve", "m", f"--speculative-config={NEW}")
    assert replace_flag((), NEW, command=("vllm", "serve", "m")) == (f"--speculative-config={NEW}",)
    assert replace_flag(("serve", "m"), "") == ("serve", "m")


def test_a_family_of_keys_gives_way_to_one_flag() -> None:
    args = (
        *("serve", "--speculative-config.method", "eagle", "--port", "1"),
        *("--speculative-config.model=o/h", "-tp", "2", "--spec-tokens", "4", "--seed=0"),
    )

    assert replace_flag(args, NEW) == (
        *("serve", f"--speculative-config={NEW}", "--port", "1", "-tp", "2", "--seed=0"),
    )
    assert replace_flag(args, "") == ("serve", "--port", "1", "-tp", "2", "--seed=0")
    assert replace_flag(args, OLD) == args


def test_a_whole_config_is_kept_of_a_config_in_parts() -> None:
    args = ("--spec-tokens", "4", "-sc", '{"method":"eagle","model":"o/h"}', "--port", "1")

    assert replace_flag(args, OLD) == args
    assert replace_flag(args, NEW) == ("-sc", NEW, "--port", "1")


def test_the_same_said_otherwise_stays() -> None:
    spaced = '{ "num_speculative_tokens": 3, "method": "ngram" }'
    for args in (("-sc", spaced), ("--spec-method=ngram", "--spec-tokens=3"), ("-sc", NEW) * 2):
        assert replace_flag(args, NEW) == args
    assert replace_flag(("serve", "--speculative-config", "None"), "") == (
        *("serve", "--speculative-config", "None"),
    )


def test_variables_are_read_and_dollars_are_written_for_the_kubelet() -> None:
    args = ("serve", "--speculative-config=$(SPECULATION_CONFIG)")
    with_dollar = '{"method":"ngram","num_speculative_tokens":3,"revision":"$(A)"}'

    assert replace_flag(args, NEW, environment={"SPECULATION_CONFIG": NEW}) == args
    assert replace_flag(args, NEW, environment={"SPECULATION_CONFIG": OLD}) == (
        *("serve", f"--speculative-config={NEW}"),
    )
    written = replace_flag(args, with_dollar)
    assert written[1].endswith('"$$(A)"}')
    assert replace_flag(written, with_dollar, environment={"A": "x"}) == written


def test_an_upgrade_of_other_words_keeps_the_profile() -> None:
    upgraded = ("serve", "m", "--max-num-seqs=256", "--speculative_config", OLD, "--port=8000")

    assert replace_flag(upgraded, NEW) == (
        *("serve", "m", "--max-num-seqs=256", "--speculative_config", NEW, "--port=8000"),
    )


SCRIPT = f"exec vllm serve m --speculative-config '{OLD}' --port 1"
REFUSED: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str], ...] = (
    ("a script", ("sh", "-c"), (SCRIPT,), "not edited; take it out"),
    ("a script in command", ("/bin/bash", "-lc", SCRIPT), ("x",), "not edited; take it out"),
    ("a script of the entrypoint", (), (SCRIPT,), "not edited; take it out"),
    ("a script without arguments", ("sh", "-c", "vllm serve m"), ("x",), 'end the script in "$@"'),
    ("command", ("vllm", "serve", "-sc", OLD), ("x",), "move it to args"),
    ("no words", (), (), "write the server's whole command line"),
    ("two wholes", (), ("-sc", OLD, "-sc", NEW), "given twice"),
    ("whole and key", (), ("-sc", OLD, "--speculative-config.method=mtp"), "put all keys into one"),
    ("a key twice", (), ("-sc.method=mtp", "-sc.method=ngram"), '"mtp" and "ngram"; remove one'),
    ("key and inner key", (), ("-sc.a=1", "-sc.a.b=2"), "-sc.a.b is given twice"),
    ("an alias twice", (), ("--spec-tokens=1", "--spec-tokens=2"), "1 and 2; remove one"),
    ("an alias and its key", (), ("-sc", OLD, "--spec-tokens=2"), "exclude each other"),
    ("two, one of them broken", (), ("-sc", OLD, "-sc", "{"), "is not JSON"),
    ("an alias beside a broken one", (), ("--spec-tokens=2", "-sc", "{"), "is not JSON"),
    ("a flag in a variable", (), ("$(FLAG)",), "write the flag into args"),
    ("a file", (), ("serve", "--config", "f.yaml"), "mount it from a ConfigMap"),
    ("a file with =", (), ("serve", "--config=f.yaml"), "mount it from a ConfigMap"),
    ("the end of flags", (), ("serve", "--", "x"), "remove it"),
)


@pytest.mark.parametrize(
    ("command", "args", "way_out"),
    [each[1:] for each in REFUSED],
    ids=[each[0] for each in REFUSED],
)
@pytest.mark.parametrize("config", [NEW, ""], ids=["replace", "remove"])
def test_what_cannot_be_done_safely_is_refused(
    command: tuple[str, ...], args: tuple[str, ...], way_out: str, config: str
) -> None:
    with pytest.raises((ArgsError, InvalidSpeculativeConfigError)) as told:
        replace_flag(args, config, command=command, environment={"FLAG": f"-sc={OLD}"})

    assert way_out in str(told.value)


def test_a_script_that_hands_its_arguments_on_is_no_hindrance() -> None:
    command = ("sh", "-c", 'ulimit -n 65536; exec vllm serve m "$@"', "--")

    assert replace_flag(("--port=1",), NEW, command=command) == (
        *("--port=1", f"--speculative-config={NEW}"),
    )
    whole = ("sh", "-c", 'exec vllm serve "$@"', "--", "m", "-sc", OLD)
    assert replace_flag(whole, NEW) == (*whole[:-1], NEW)


@pytest.mark.parametrize(
    "document",
    [
        {"speculative-config": OLD},
        {"speculative_config": {"method": "ngram"}},
        {"speculative-config.method": "ngram"},
        {"port": 1, "spec-method": "ngram"},
    ],
    ids=str,
)
def test_a_flag_in_a_file_is_refused(document: object) -> None:
    with pytest.raises(ArgsError, match="remove the key there"):
        replace_flag(("serve", "--config", "f.yaml"), NEW, config_file=document)


def test_a_file_about_other_things_is_no_hindrance() -> None:
    args = ("serve", "--config", "f.yaml")

    assert replace_flag(args, NEW, config_file={"port": 1}) == (
        *(*args, f"--speculative-config={NEW}"),
    )


def test_arguments_are_never_left_empty() -> None:
    with pytest.raises(ArgsError, match="nothing would be left of args"):
        replace_flag(("-sc", OLD), "")
    assert replace_flag(("-sc", OLD), "", command=("vllm", "serve", "m")) == ()


def test_no_config_that_loads_code_is_written_or_taken_away() -> None:
    code = '{"method":"custom_class","model":"a.b","num_speculative_tokens":1}'

    with pytest.raises(LoadsCodeError):
        replace_flag(("serve",), code)
    for args in (("-sc", code), ("--spec-method", "custom_class"), ("-sc.code_revision", "x")):
        with pytest.raises(LoadsCodeError):
            replace_flag(args, NEW)


@pytest.mark.parametrize("config", ["{", "[]", "eagle"])
def test_no_config_that_is_none_is_written(config: str) -> None:
    with pytest.raises(InvalidSpeculativeConfigError):
        replace_flag(("serve",), config)


def test_a_shell_that_runs_a_file_gets_its_flags_as_arguments() -> None:
    args = ("sh", "launch.sh", "-sc", OLD)

    assert replace_flag(args, NEW) == ("sh", "launch.sh", "-sc", NEW)


def test_a_dotted_alias_is_not_ours() -> None:
    assert replace_flag(("m", "--spec-method.x=1"), "") == ("m", "--spec-method.x=1")


@pytest.mark.parametrize("words", [("sh", "-c"), ("", "bash", "-lc")])
def test_a_flag_never_becomes_the_script_that_a_shell_waits_for(words: tuple[str, ...]) -> None:
    with pytest.raises(ArgsError, match="would become that script"):
        replace_flag(words, NEW)
    assert replace_flag(words, "") == words
