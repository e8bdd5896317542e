"""How a container takes its speculative config."""

from dataclasses import replace

import pytest

from ridgeline.engine.container import (
    Container,
    EnvItem,
    InjectionPoint,
    InjectionPointError,
    injection_point,
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
        (("sh", "-c", "serve $SPECULATION_CONFIG_FILE"), "does not read"),
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
