"""A profile as the text of the env item, and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.engine.speculative_config import (
    InvalidSpeculativeConfigError,
    Profile,
    parse,
    profile_of,
    render,
)
from ridgeline.terms.methods import Method

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
MODELS = st.from_regex(r"[A-Za-z0-9._/][A-Za-z0-9._/:@+=,-]{0,30}", fullmatch=True)
COUNTS = st.integers(min_value=1, max_value=32)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    method = draw(st.sampled_from(Method))
    with_model = method in (Method.EAGLE, Method.EAGLE3, Method.DRAFT_MODEL)
    return Profile(
        name=draw(NAMES),
        method=method,
        model=draw(MODELS) if with_model else None,
        num_speculative_tokens=draw(COUNTS) if method.speculates else None,
        prompt_lookup_max=draw(st.none() | COUNTS) if method is Method.NGRAM else None,
        prompt_lookup_min=draw(st.none() | COUNTS) if method is Method.NGRAM else None,
    )


def settings_of(profile: Profile) -> tuple[object, ...]:
    return (
        profile.method,
        profile.model,
        profile.num_speculative_tokens,
        profile.prompt_lookup_max,
        profile.prompt_lookup_min,
    )


different_profiles = st.lists(profiles(), min_size=1, max_size=8, unique_by=settings_of)


@given(different_profiles, st.data())
def test_every_profile_is_recognised_by_what_it_renders(
    known: list[Profile], data: st.DataObject
) -> None:
    chosen = data.draw(st.sampled_from(known))

    assert profile_of(render(chosen), tuple(known)) == chosen


@given(different_profiles, st.data())
def test_spacing_and_key_order_do_not_matter(known: list[Profile], data: st.DataObject) -> None:
    chosen = data.draw(st.sampled_from([each for each in known if each.method.speculates] or known))
    config = parse(render(chosen))
    if config is None:
        return
    items = data.draw(st.permutations(list(config.items())))
    text = json.dumps(dict(items), indent=data.draw(st.sampled_from([None, 1, 4])))

    assert profile_of(f" {text}\n", tuple(known)) == chosen


@given(profiles())
def test_the_same_profile_gives_the_same_bytes(profile: Profile) -> None:
    text = render(profile)

    assert text == render(profile)
    assert "\n" not in text
    assert (text == "") == (profile.method is Method.DISABLED)


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (
            Profile(name="a", method=Method.EAGLE, model="o/h", num_speculative_tokens=4),
            '{"method":"eagle","model":"o/h","num_speculative_tokens":4}',
        ),
        (
            Profile(name="a", method=Method.EAGLE3, model="o/h", num_speculative_tokens=3),
            '{"method":"eagle3","model":"o/h","num_speculative_tokens":3}',
        ),
        (
            Profile(name="a", method=Method.DRAFT_MODEL, model="o/d", num_speculative_tokens=5),
            '{"method":"draft_model","model":"o/d","num_speculative_tokens":5}',
        ),
        (
            Profile(
                name="a",
                method=Method.NGRAM,
                num_speculative_tokens=3,
                prompt_lookup_max=4,
                prompt_lookup_min=2,
            ),
            '{"method":"ngram","num_speculative_tokens":3,'
            '"prompt_lookup_max":4,"prompt_lookup_min":2}',
        ),
        (
            Profile(name="a", method=Method.MTP, num_speculative_tokens=1),
            '{"method":"mtp","num_speculative_tokens":1}',
        ),
        (Profile(name="a", method=Method.SUFFIX), '{"method":"suffix"}'),
        (Profile(name="a", method=Method.DISABLED), ""),
    ],
    ids=lambda value: value.method.value if isinstance(value, Profile) else "",
)
def test_what_each_method_renders(profile: Profile, text: str) -> None:
    assert render(profile) == text


def test_another_config_is_no_profile() -> None:
    known = (
        Profile(name="eagle4", method=Method.EAGLE, model="o/h", num_speculative_tokens=4),
        Profile(name="none", method=Method.DISABLED),
    )

    assert profile_of('{"method":"eagle","model":"o/h","num_speculative_tokens":5}', known) is None
    assert profile_of("{}", known) is None
    none = profile_of("  \n", known)
    assert none is not None
    assert none.name == "none"
    assert profile_of("", known[:1]) is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"method": eagle}',
        "'{}'",
        "[]",
        "null",
        "4",
        '"eagle"',
        "[" * 100_000,
        '{"num_speculative_tokens":' + "9" * 5000 + "}",
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_json_object_is_refused_with_a_short_message(text: str) -> None:
    with pytest.raises(InvalidSpeculativeConfigError) as told:
        parse(text)

    assert str(told.value).startswith("speculative config ")
    assert len(str(told.value)) < 200
