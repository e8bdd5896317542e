"""Markup is escaped by construction."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.render.markup import Markup, joined, tag, text


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@given(st.text(), st.text())
def test_whatever_a_text_holds_it_stays_a_text(inside: str, attribute: str) -> None:
    reader = _Reader()
    reader.feed(tag("p", inside, title=attribute))
    reader.close()
    assert [name for name, _ in reader.tags] == ["p"]
    ((_, ((key, value),)),) = reader.tags
    assert key == "title"
    assert value == str(_Plain(attribute))
    assert "".join(reader.texts) == str(_Plain(inside))


class _Plain:
    """A text as a reader of HTML gives it back: unprintable characters are replaced."""

    def __init__(self, raw: str) -> None:
        reader = _Reader()
        reader.feed(text(raw))
        reader.close()
        self._text = "".join(reader.texts)

    def __str__(self) -> str:
        return self._text


def test_characters_that_turn_or_break_a_text_are_replaced() -> None:
    assert text("a\u202eb\x00c\ud800d\u2066") == "a\ufffdb\ufffdc\ufffdd\ufffd"
    assert text("Grüße, 東京 – 5 °C\n") == "Grüße, 東京 – 5 °C\n"


def test_only_markup_gets_in_as_it_is() -> None:
    assert joined("<b>", Markup("<b>"), 5) == "&lt;b&gt;<b>5"
    assert tag("p", tag("b", "&"), "<") == "<p><b>&amp;</b>&lt;</p>"


def test_attributes_are_written_as_html_has_them() -> None:
    made = tag("th", "x", class_="number", aria_label='"', hidden=True, title=None, tabindex=0)
    assert made == '<th class="number" aria-label="&quot;" hidden tabindex="0">x</th>'
    assert tag("meta", name="a") == '<meta name="a">'
    assert tag("rect", x=1) == '<rect x="1"/>'


@pytest.mark.parametrize("name", ["", "p q", "p>", "1a", "on\nload"])
def test_a_name_from_outside_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="is no name of an element"):
        tag(name)
    with pytest.raises(ValueError, match="is no name of an attribute"):
        tag("p", **{name: "x"})
