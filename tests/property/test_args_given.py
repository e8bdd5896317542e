"""A profile in an argument list, written, changed, taken back: over lists, spellings and owners."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.cluster.args_write import args_write, makers_args
from ridgeline.cluster.marker import marker, marker_of
from ridgeline.cluster.objects import DeploymentObject, trim_deployment
from ridgeline.engine.args_given import config_in_args, without_literal_flags
from ridgeline.engine.args_mentions import mentions
from ridgeline.terms.rolls import OnDelete

EAGLE = '{"method":"eagle","model":"o/h$x","num_speculative_tokens":4}'
NGRAM = '{"method":"ngram","num_speculative_tokens":3}'
CONFIGS = st.lists(st.sampled_from((EAGLE, NGRAM, "")), min_size=1, max_size=5)

WORDS = st.one_of(
    st.sampled_from(
        ("--port", "8000", "-tp=2", "--seed=0", "-q", "x y", "", "{}", "ünï", "$(OTHER)", "$$")
    ),
    st.text(alphabet="ab-=.{}\"' $()é", max_size=8).filter(
        lambda word: not word.startswith(("-", "--")) and "$" not in word
    ),
)
LISTS = st.lists(WORDS, max_size=8).map(lambda words: ["serve", "m", *words])


def spelled(how: str, config: str) -> list[list[str]]:
    """Our flags, as their maker may have written them."""
    value = config.replace("$", "$$")
    if how == "none":
        return []
    if how in ("dotted", "trio"):
        found = json.loads(config)
        keys = {"method": "method", "model": "model", "num_speculative_tokens": "tokens"}
        prefix = "--speculative-config." if how == "dotted" else "--spec-"
        return [
            [f"{prefix}{key if how == 'dotted' else keys[key]}", str(told).replace("$", "$$")]
            for key, told in found.items()
        ]
    flag = {"long": "--speculative-config", "low": "--speculative_config", "short": "-sc"}[how[:-1]]
    return [[f"{flag}={value}"]] if how.endswith("=") else [[flag, value]]


SPELLINGS = st.sampled_from(
    ("none", "dotted", "trio", "long=", "long ", "low=", "low ", "short=", "short ")
)


@st.composite
def makers(draw: st.DrawFn) -> tuple[str, ...]:
    """An argument list as somebody made it, with or without flags of its own."""
    words: list[str] = draw(LISTS)
    flags = spelled(draw(SPELLINGS), draw(st.sampled_from((EAGLE, NGRAM))))
    places = sorted(draw(st.integers(2, len(words))) for _ in flags)
    for place, flag in sorted(zip(places, flags, strict=True), key=lambda each: -each[0]):
        words[place:place] = flag
    # A flag between another and its value would be a list of another kind.
    return tuple(words)


def deployment(
    args: tuple[str, ...], *, ours: bool = False, note: str | None = None
) -> DeploymentObject:
    """A Deployment with these arguments, and whether we own them."""
    list_fields: dict[str, Any] = {"f:args": {}}
    for step in ('k:{"name":"vllm"}', "f:containers", "f:spec", "f:template", "f:spec"):
        list_fields = {step: list_fields}
    entry = {"manager": "ridgeline-profile" if ours else "flux", "fieldsV1": list_fields}
    return trim_deployment(
        {
            "metadata": {
                "namespace": "n",
                "name": "d",
                "uid": "u",
                "resourceVersion": "1",
                "annotations": {} if note is None else {"ridgeline.dev/serving": note},
                "managedFields": [entry],
            },
            "spec": {
                "template": {"spec": {"containers": [{"name": "vllm", "args": list(args)}]}},
            },
        }
    )


def written(live: DeploymentObject, config: str) -> DeploymentObject:
    """The Deployment after our write."""
    write = args_write(live, live.containers[0], config)
    return deployment(write.words, ours=True, note=marker("s", OnDelete.KEEP, None, write.mark))


@settings(max_examples=400)
@given(made=makers(), configs=CONFIGS)
def test_any_row_of_writes_is_undone_byte_for_byte_and_the_same_config_has_the_same_bytes(
    made: tuple[str, ...], configs: list[str]
) -> None:
    first = live = deployment(made)
    seen: dict[str, tuple[str, ...]] = {}
    for config in configs:
        live = written(live, config)
        (container,) = live.containers
        found = config_in_args(container)
        assert json.loads(found or "null") == json.loads(config or "null")
        assert seen.setdefault(config, container.args) == container.args
        assert without_literal_flags(container.args) == without_literal_flags(made)
        assert live.template == first.template
    assert makers_args(live, live.containers[0]) == made


@given(made=makers(), upgraded=makers(), config=st.sampled_from((EAGLE, NGRAM)))
def test_a_list_that_its_maker_has_written_again_is_what_is_started_from(
    made: tuple[str, ...], upgraded: tuple[str, ...], config: str
) -> None:
    note = written(deployment(made), config).marker
    live = deployment(upgraded, note=note)

    after = written(live, config)

    assert without_literal_flags(after.containers[0].args) == without_literal_flags(upgraded)
    assert makers_args(after, after.containers[0]) == upgraded


@given(made=makers())
def test_without_our_note_our_flag_goes_and_nothing_else(made: tuple[str, ...]) -> None:
    live = replace(written(deployment(made), NGRAM), marker=None)
    back = makers_args(live, live.containers[0])
    assert back == without_literal_flags(made)
    assert not mentions(back, {})


@given(made=makers())
def test_the_note_is_read_back(made: tuple[str, ...]) -> None:
    write = args_write(deployment(made), deployment(made).containers[0], NGRAM)
    found = marker_of(marker("s", OnDelete.RESTORE, None, write.mark))
    assert found is not None
    assert found.args == write.mark
