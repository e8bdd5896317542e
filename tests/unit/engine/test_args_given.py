"""What is remembered of a list's maker, put back; and which lists can carry a profile at all."""

import pytest

from ridgeline.engine.args_given import (
    GivenFlag,
    config_in_args,
    given_flags,
    with_given,
    without_literal_flags,
)
from ridgeline.engine.args_reading import ArgsError
from ridgeline.engine.container import Container, EnvItem
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, LoadsCodeError

EAGLE = '{"num_speculative_tokens":4,"method":"eagle","model":"o/h"}'
ITEM = "$(SPECULATION_CONFIG)"


def container(*args: str, command: tuple[str, ...] = (), env: str | None = None) -> Container:
    items = () if env is None else (EnvItem(name="SPECULATION_CONFIG", value=env),)
    return Container(name="vllm", args=args, command=command, env=items)


def test_flags_are_remembered_with_the_words_that_stand_before_them() -> None:
    args = ("serve", "-sc.method", "ngram", "m", "--port=1", "--spec-tokens=3", "--x")

    assert given_flags(args) == (
        GivenFlag(before=1, words=("-sc.method", "ngram")),
        GivenFlag(before=3, words=("--spec-tokens=3",)),
    )
    assert with_given(("serve", "m", "--port=1", "--x"), given_flags(args)) == args


def test_what_was_there_takes_the_place_of_what_is() -> None:
    now = ("serve", "m", "--port=1", f"--speculative-config={EAGLE}")

    assert with_given(now, (GivenFlag(before=2, words=("-sc", "{}")),)) == (
        *("serve", "m", "-sc", "{}", "--port=1"),
    )
    assert with_given(now, ()) == ("serve", "m", "--port=1")


def test_a_place_behind_the_end_is_the_end() -> None:
    given = (GivenFlag(before=9, words=("-sc", "{}")), GivenFlag(before=-1, words=("--spec-x",)))

    assert with_given(("serve",), given) == ("serve", "-sc", "{}", "--spec-x")


def test_a_flag_that_takes_the_profiles_variable_is_no_profile() -> None:
    args = (
        "m",
        f"--speculative-config={ITEM}",
        "--spec-tokens",
        "3",
        "--speculative-config",
        EAGLE,
    )

    assert without_literal_flags(args) == ("m", f"--speculative-config={ITEM}")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("serve", "m"), ""),
        (("serve", "--speculative-config", EAGLE), EAGLE),
        ((f"-sc={EAGLE}",), EAGLE),
        (("m", "--speculative-config", "None"), ""),
        (("m", "-sc="), ""),
        (("m", "-sc", '{"model":"a$$b"}'), '{"model":"a$b"}'),
        (
            ("--spec-method", "ngram", "-tp", "2", "--spec-tokens=3"),
            '{"method":"ngram","num_speculative_tokens":3}',
        ),
    ],
)
def test_the_config_in_force_is_told_as_it_is_written(args: tuple[str, ...], text: str) -> None:
    assert config_in_args(container(*args)) == text


def test_an_item_that_the_list_reads_is_known_where_env_tells_it() -> None:
    assert config_in_args(container("m", f"--speculative-config={ITEM}", env=EAGLE)) == EAGLE
    with pytest.raises(ArgsError, match="not known"):
        config_in_args(container("m", f"--speculative-config={ITEM}"))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (container(), "neither command nor args"),
        (container("-c", f"exec vllm serve -sc '{EAGLE}'", command=("sh",)), "script of a shell"),
        (container("-c", "exec vllm serve m", command=("/bin/bash",)), "hand its arguments on"),
        (container("--port=1", command=("vllm", "serve", "-sc", EAGLE)), "stands in command"),
        (container("m", "--config", "/etc/vllm.yaml"), "--config file.*Env"),
        (container("m", "--config=/etc/vllm.yaml"), "--config file.*Env"),
        (container("m", "--", "x"), "bare --"),
        (container("-sc", EAGLE, "--spec-tokens=3"), "exclude each other"),
        (container("-sc", "--port=1"), "says nothing"),
    ],
)
def test_what_cannot_be_replaced_for_sure_is_refused_with_the_way_out(
    found: Container, told: str
) -> None:
    with pytest.raises(ArgsError, match=told):
        config_in_args(found)


def test_a_config_that_is_none_or_runs_code_is_refused() -> None:
    with pytest.raises(InvalidSpeculativeConfigError):
        config_in_args(container("m", "-sc", "not json"))
    with pytest.raises(LoadsCodeError):
        config_in_args(container("m", "-sc", '{"method":"custom_class","model":"a.b.C"}'))
