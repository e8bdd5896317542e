"""A report in a real browser: alone, by key, dark, on paper, narrow, and with hostile names."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ridgeline.render.report_page import report_page
from tests.component.report.report_values import HOSTILE, report
from tests.tools.browser import Browser, BrowserMissingError, Page, running

CONTRAST = 4.5
"""Least contrast of text that WCAG 2.2 asks for (1.4.3, level AA)."""

TEXTS = """
(() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const found = [];
  for (const e of document.querySelectorAll('h1,h2,h3,p,li,th,td,dt,dd,a,summary,caption,text')) {
    if (e.closest('.skip') || !e.textContent.trim()) continue;
    const style = getComputedStyle(e);
    const ink = e.tagName === 'text' ? style.fill : style.color;
    let ground = behind(e);
    if (e.classList.contains('onfill'))
      ground = parse(getComputedStyle(e.previousElementSibling).fill);
    const [a, b] = [light(parse(ink)), light(ground)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([e.tagName + '.' + e.getAttribute('class'), e.textContent.slice(0, 40), ratio]);
  }
  return found;
})()
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        with running() as found:
            yield found
    except BrowserMissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(report_page(report()), encoding="utf-8")
    return path


def requested(page: Page) -> list[str]:
    return [
        each["params"]["request"]["url"]
        for each in page.events
        if each.get("method") == "Network.requestWillBeSent"
    ]


def complaints(page: Page) -> list[Any]:
    methods = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
    return [each for each in page.events if each.get("method") in methods]


async def test_nothing_but_the_file_itself_is_loaded(browser: Browser, file: Path) -> None:
    async with browser.page(file) as page:
        await page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        assert requested(page) == [file.as_uri()]
        assert complaints(page) == []
        assert await page.evaluate("document.scripts.length") == 0


@pytest.mark.parametrize("dark", [False, True])
async def test_every_text_can_be_read(browser: Browser, file: Path, dark: bool) -> None:
    async with browser.page(file) as page:
        await page.look(dark=dark)
        await page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        texts = await page.evaluate(TEXTS)
        assert len(texts) > 60
        assert [each for each in texts if each[2] < CONTRAST] == []


async def test_the_page_is_dark_where_a_person_wants_it_dark(browser: Browser, file: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    line = "getComputedStyle(document.querySelector('polyline')).stroke"
    async with browser.page(file) as page:
        light = [await page.evaluate(each) for each in (ground, line)]
        bright = await page.picture()
        await page.look(dark=True)
        dark = [await page.evaluate(each) for each in (ground, line)]
        assert light[0] == "rgb(255, 255, 255)"
        assert dark[0] != light[0]
        assert dark[1] != light[1]
        assert await page.picture() != bright


async def test_everything_is_reached_and_opened_by_key(browser: Browser, file: Path) -> None:
    focused = "document.activeElement.className || document.activeElement.tagName"
    async with browser.page(file) as page:
        await page.press("Tab")
        assert await page.evaluate(focused) == "skip"
        await page.press("Enter")
        assert await page.evaluate("location.hash") == "#content"
        closed = "document.activeElement.matches('details:not([open]) > summary')"
        for _ in range(40):
            await page.press("Tab")
            if await page.evaluate(closed):
                await page.press("Enter")
        assert await page.evaluate("document.querySelectorAll('details').length") == 6
        assert await page.evaluate("document.querySelectorAll('details[open]').length") == 6
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        await page.evaluate("document.querySelector('summary').focus()")
        await page.press("Tab")
        assert await page.evaluate(outline) != "none"


async def test_what_is_drawn_is_told(browser: Browser, file: Path) -> None:
    """Each picture has a name, and a table with the same numbers; each table has a caption."""
    async with browser.page(file) as page:
        await page.send("Accessibility.enable")
        tree = (await page.send("Accessibility.getFullAXTree"))["nodes"]
        named = [
            (each["role"]["value"], each.get("name", {}).get("value", ""))
            for each in tree
            if not each.get("ignored")
        ]
        pictures = [name for role, name in named if role in {"image", "img", "graphics-document"}]
        assert pictures == ["Load of llama over a day.", "Profiles of llama over a day."] * 2
        for role in ("figure", "region", "table", "link", "heading", "navigation"):
            names = [name for each, name in named if each == role]
            assert names, role
            assert all(names), role
        missing = "[...document.querySelectorAll('figure')].filter(e => !e.querySelector('td'))"
        assert await page.evaluate(f"{missing}.length") == 0
        heads = "[...document.querySelectorAll('th')].filter(e => !e.scope).length"
        assert await page.evaluate(heads) == 0
        assert await page.evaluate("document.documentElement.lang") == "en"


async def test_on_paper_it_is_light_and_whole(browser: Browser, file: Path) -> None:
    async with browser.page(file) as page:
        await page.look(media="print", dark=True)
        assert await page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        nav = "getComputedStyle(document.querySelector('nav')).display"
        assert await page.evaluate(nav) == "none"
        printed = await page.pdf()
        assert printed.startswith(b"%PDF")
        assert len(printed) > 10_000


async def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Browser, file: Path) -> None:
    async with browser.page(file) as page:
        await page.look(width=360)
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_name_stays_a_name(browser: Browser, tmp_path: Path, name: str) -> None:
    file = tmp_path / "report.html"
    file.write_text(report_page(report(name)), encoding="utf-8")
    async with browser.page(file) as page:
        assert (await page.evaluate("document.title")).startswith("Report of ")
        for kind in ("script", "img", "iframe", "b", "svg svg", "svg script"):
            assert await page.evaluate(f"document.querySelectorAll('{kind}').length") == 0
        shown = await page.evaluate("document.querySelector('dd').textContent")
        printable = "".join(each for each in name if each.isprintable())
        assert shown.replace("\ufffd", "") == printable.replace("\ufffd", "")
        assert await page.evaluate("document.querySelectorAll('section').length") == 4
        assert await page.evaluate("document.querySelectorAll('[onload],[onerror]').length") == 0
        assert requested(page) == [file.as_uri()]
        await page.look(width=360)
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360
