"""How a container takes its speculative config."""

from dataclasses import replace

import pytest

from ridgeline.engine.container import (
    Container,
    EnvItem,
    InjectionPoint,
    InjectionPointError,
    injection_point,
    known_environment,
    own_flag_value,
)
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError

EAGLE = '{"method":"eagle","model":"o/h","num_speculative_tokens":4}'
SCRIPT = 'exec vllm serve m ${SPECULATION_CONFIG:+--speculative-config "$SPECULATION_CONFIG"}'

GOOD = Container(
    name="vllm",
    args=("--model=m", "--speculative-config=$(SPECULATION_CONFIG)"),
    has_env_from=True,
)


def item(value: str | None, **other: bool) -> EnvItem:
    return EnvItem(name="SPECULATION_CONFIG", value=value, **other)


@pytest.mark.parametrize(
    "words",
    [
        ("--speculative-config=$(SPECULATION_CONFIG)",),
        ("--speculative-config", "$(SPECULATION_CONFIG)"),
        ("--speculative_config=$(SPECULATION_CONFIG)",),
        ("-sc=$(SPECULATION_CONFIG)",),
        ("-sc", "$(SPECULATION_CONFIG)"),
        ("--speculative-config=$$$(SPECULATION_CONFIG)",),
    ],
    ids=" ".join,
)
def test_arguments_that_the_kubelet_expands(words: tuple[str, ...]) -> None:
    container = replace(GOOD, args=words)

    assert injection_point(container) == InjectionPoint(text="", set_by_item=False)
    assert injection_point(replace(container, env=(item(EAGLE),))) == InjectionPoint(
        text=EAGLE, set_by_item=True
    )
    with pytest.raises(InjectionPointError, match="nothing gives it a default"):
        injection_point(replace(container, has_env_from=False))


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (("sh", "-c"), (SCRIPT,)),
        (("/bin/bash", "-lc", SCRIPT), ()),
        ((), ("sh", "-c", SCRIPT)),
        ((), (SCRIPT,)),  # the image's entrypoint may be a shell
        (("sh", "-c"), ("launch$SPECULATION_CONFIG",)),
        (("sh", "-c", "vllm serve --speculative-config=$SPECULATION_CONFIG"), ()),
    ],
)
def test_scripts_that_a_shell_expands_need_no_default(
    command: tuple[str, ...], args: tuple[str, ...]
) -> None:
    container = Container(name="vllm", command=command, args=args)

    assert injection_point(container) == InjectionPoint(text="", set_by_item=False)
    assert injection_point(replace(container, env=(item(EAGLE),))).text == EAGLE


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--model=m",), "does not read SPECULATION_CONFIG; add"),
        ((), "does not read SPECULATION_CONFIG; add"),
        (("--speculative-config=$$(SPECULATION_CONFIG)",), "has its own"),
        (("--speculative-config=$SPECULATION_CONFIG",), "no shell expands it"),
        (("sh", "-c", "serve $SPECULATION_CONFIG_FILE"), "edits no scripts; write"),
        (("sh", "-c", "serve -sc '{}'"), "there in place of -sc"),
        (("--x=$(SPECULATION_CONFIG_FILE)",), "does not read"),
    ],
)
def test_what_reads_no_env_item_is_told(words: tuple[str, ...], told: str) -> None:
    if "has its own" in told:
        with pytest.raises(InvalidSpeculativeConfigError, match=told):
            injection_point(replace(GOOD, args=words))
        return
    with pytest.raises(InjectionPointError, match=told):
        injection_point(replace(GOOD, args=words))


OWN_FLAGS = [
    (f"--speculative-config={EAGLE}",),
    ("--speculative-config", EAGLE),
    (f"--speculative_config={EAGLE}",),
    ("--speculative_config", EAGLE),
    (f"-sc={EAGLE}",),
    ("-sc", EAGLE),
]


@pytest.mark.parametrize("words", OWN_FLAGS, ids=lambda words: words[0][:22])
def test_a_flag_of_its_own_is_found_in_every_spelling(words: tuple[str, ...]) -> None:
    container = replace(GOOD, args=("--model=m", *words, "--port=8000"))

    assert own_flag_value(container) == EAGLE
    with pytest.raises(InjectionPointError, match="its own --speculative-config"):
        injection_point(container)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("--speculative-config.method", "eagle"), '{"method": "eagle"}'),
        (("--speculative_config.method=mtp",), '{"method": "mtp"}'),
        (("-sc.a.b=1",), '{"a.b": "1"}'),
        (("--spec-method", "mtp"), '{"method": "mtp"}'),
        (("--spec_tokens=3",), '{"num_speculative_tokens": "3"}'),
    ],
)
def test_a_flag_for_one_key_is_a_flag_of_its_own(words: tuple[str, ...], value: str) -> None:
    container = replace(GOOD, args=words)

    assert own_flag_value(container) == value
    with pytest.raises(InjectionPointError, match="its own --speculative-config"):
        injection_point(container)


@pytest.mark.parametrize("words", OWN_FLAGS, ids=lambda words: words[0][:22])
@pytest.mark.parametrize("first", [True, False])
def test_a_flag_of_its_own_beside_ours_is_refused(words: tuple[str, ...], first: bool) -> None:
    args = (*words, *GOOD.args) if first else (*GOOD.args, *words)

    with pytest.raises(InjectionPointError, match="remove its own"):
        injection_point(replace(GOOD, args=args))


def test_a_flag_without_a_value_is_found() -> None:
    assert own_flag_value(replace(GOOD, args=("--speculative-config",))) == ""
    assert own_flag_value(GOOD) is None
    assert own_flag_value(replace(GOOD, args=("--speculative-config-file=x",))) is None


@pytest.mark.parametrize("text", ["{", "eagle", "[1]"])
def test_an_item_or_a_flag_that_is_no_json_object_is_told(text: str) -> None:
    with pytest.raises(InvalidSpeculativeConfigError):
        injection_point(replace(GOOD, env=(item(text),)))
    with pytest.raises(InvalidSpeculativeConfigError, match="write --speculative-config="):
        injection_point(replace(GOOD, args=(f"--speculative-config={text}",)))


def test_an_item_from_elsewhere_is_told() -> None:
    with pytest.raises(InjectionPointError, match="valueFrom"):
        injection_point(replace(GOOD, env=(item(None, from_elsewhere=True),)))


def test_an_item_without_a_value_is_no_speculation() -> None:
    point = injection_point(replace(GOOD, has_env_from=False, env=(item(None),)))

    assert point == InjectionPoint(text="", set_by_item=True)


def test_of_two_items_the_last_counts() -> None:
    other = '{"method":"ngram","num_speculative_tokens":2}'

    assert injection_point(replace(GOOD, env=(item(other), item(EAGLE)))).text == EAGLE


def test_items_of_other_names_do_not_count() -> None:
    others = (EnvItem(name="SPECULATION_CONFIG_2", value="x"), EnvItem(name="A", value="{"))

    assert injection_point(replace(GOOD, env=others)) == InjectionPoint(text="", set_by_item=False)


OWN_IN_SCRIPT = (
    "vllm serve m --speculative-config '{}' ${SPECULATION_CONFIG:+-sc \"$SPECULATION_CONFIG\"}",
    'test "$SPECULATION_CONFIG" || exec vllm serve m --spec-method ngram; exec vllm serve m',
    'echo $SPECULATION_CONFIG; exec vllm serve m -sc "$OTHER"',
)


@pytest.mark.parametrize("script", OWN_IN_SCRIPT)
def test_a_script_with_a_flag_of_its_own_beside_ours_is_refused(script: str) -> None:
    container = Container(name="vllm", command=("sh", "-c"), args=(script,))

    with pytest.raises(InjectionPointError, match=r"scripts are not edited: remove its own"):
        injection_point(container)


@pytest.mark.parametrize(
    "script",
    [
        SCRIPT,
        'exec vllm serve m --speculative-config "$SPECULATION_CONFIG"',
        "exec vllm serve m --speculative-config='$(SPECULATION_CONFIG)'",
        "exec vllm serve m -sc ${SPECULATION_CONFIG} # --spec-tokens 3",
        'exec vllm serve m --chat-template "it\'s" "$SPECULATION_CONFIG',
    ],
)
def test_a_script_that_only_reads_the_item_has_no_flag_of_its_own(script: str) -> None:
    container = Container(name="vllm", command=("sh", "-c"), args=(script,), has_env_from=True)

    assert injection_point(container).text == ""


def test_an_item_that_loads_code_is_refused() -> None:
    code = '{"method":"custom_class","model":"a.b"}'

    with pytest.raises(InvalidSpeculativeConfigError, match="code that is not its own"):
        injection_point(replace(GOOD, env=(item(code),)))
    with pytest.raises(InvalidSpeculativeConfigError, match="code that is not its own"):
        injection_point(replace(GOOD, args=("-sc", code)))


def test_variables_are_known_as_far_as_they_are_written() -> None:
    container = replace(
        GOOD,
        env=(
            EnvItem(name="A", value="1"),
            EnvItem(name="B", value="$(A)-$(C)-$$(A)"),
            EnvItem(name="C", value=None),
            EnvItem(name="D", value="2"),
            EnvItem(name="D", value=None, from_elsewhere=True),
        ),
    )

    assert known_environment(container) == {"A": "1", "B": "1-$(C)-$(A)", "C": ""}
