"""The documentation agrees with itself and with the code: links, targets, objects, pages."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
import yaml

from ridgeline.api.columns import SERVING as SERVING_COLUMNS
from ridgeline.api.serving import parse_serving
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.cli.kubectl import app as kubectl
from ridgeline.cli.main import app as ridgeline
from ridgeline.cluster.objects import trim_container
from ridgeline.engine.container import InjectionPoint, injection_point
from ridgeline.policy.conditions import NEEDS_A_PERSON
from ridgeline.settings.config import parse_config
from ridgeline.terms.names import SERVING_KIND
from ridgeline.terms.reasons import Reason
from tests.tools import alerts, cli, configuration, metrics, reasons

REPOSITORY = Path(__file__).parents[3]
FOLDERS_OF_OTHERS = {".venv", ".cache", "node_modules", "shared"}

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\((?P<to>[^()\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6} +(?P<title>.+?)\s*$", re.MULTILINE)
SPOKEN_TARGET = re.compile(r"`make (?P<target>[a-z][a-z-]*)")
TYPED_TARGET = re.compile(r"^\s*(?:\$ )?make (?P<target>[a-z][a-z-]*)", re.MULTILINE)
TARGET = re.compile(r"^(?P<target>[a-z][a-z-]*):", re.MULTILINE)


class Link(NamedTuple):
    page: Path
    to: str


class Block(NamedTuple):
    page: Path
    language: str
    body: str


def pages() -> list[Path]:
    return sorted(
        path
        for path in REPOSITORY.rglob("*.md")
        if not FOLDERS_OF_OTHERS.intersection(path.relative_to(REPOSITORY).parts)
        and not any(part.startswith(".") for part in path.relative_to(REPOSITORY).parts[:-1])
    )


def blocks() -> Iterator[Block]:
    for page in pages():
        for found in FENCE.finditer(page.read_text()):
            yield Block(page, found["language"], found["body"])


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text())


def links() -> list[Link]:
    return [
        Link(page, found["to"])
        for page in pages()
        for found in LINK.finditer(CODE.sub("", prose(page)))
    ]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, by the rule of the forges."""
    found = set()
    for heading in HEADING.finditer(prose(page)):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading["title"]).replace("`", "")
        found.add(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-"))
    return found


def trouble(link: Link) -> str | None:
    """Why a relative link leads nowhere; None when it leads somewhere."""
    to, _, anchor = link.to.partition("#")
    target = (link.page.parent / to).resolve() if to else link.page
    if not target.exists():
        return f"{to} does not exist"
    if not target.is_relative_to(REPOSITORY):
        return f"{to} is outside the repository"
    if anchor and anchor not in anchors(target):
        return f"{to or 'the page itself'} has no heading #{anchor}"
    return None


def documents(kind: Callable[[dict[str, Any]], bool]) -> list[Any]:
    """The YAML documents of the docs that are of a kind, as parameters named by their page."""
    chosen = []
    for block in blocks():
        if block.language in {"yaml", "yml"}:
            found = [each for each in yaml.safe_load_all(block.body) if isinstance(each, dict)]
            name = str(block.page.relative_to(REPOSITORY))
            chosen += [pytest.param(each, id=name) for each in found if kind(each)]
    return chosen


FIELDS = {field.alias or name for name, field in SpeculativeServingSpec.model_fields.items()}


def is_part_of_a_spec(document: dict[str, Any]) -> bool:
    """A document that sets nothing but fields of a serving's spec (a configuration has a list)."""
    only = document.keys() <= FIELDS
    return only and bool(document) and not isinstance(document.get("telemetry"), dict | list)


def typed(*programs: str) -> list[Any]:
    """The command lines of the docs that begin with a program, as words, named by their page."""
    chosen = []
    for block in blocks():
        if block.language in {"console", "bash", "sh"}:
            for line in block.body.replace("\\\n", " ").splitlines():
                words = tuple(shlex.split(line.removeprefix("$ "), comments=True))
                if words[: len(programs)] == programs:
                    name = str(block.page.relative_to(REPOSITORY))
                    chosen.append(pytest.param(words[len(programs) :], id=name))
    return chosen


def listings() -> list[Any]:
    """What the docs show of `kubectl get sps`: the header, and each row's cells."""
    return [
        pytest.param([re.split(r" {2,}", line.strip()) for line in found], id=str(block.page.name))
        for block in blocks()
        if (found := [line for line in block.body.splitlines() if re.match(r"\S+ {3,}", line)])
        and found[0].startswith("NAME ")
    ]


SERVINGS = documents(lambda each: each.get("kind") == SERVING_KIND)
PARTS = documents(is_part_of_a_spec)
LISTINGS = listings()
VALUES: Callable[[Any], Any] = attrgetter("values")
COMMANDS = [
    *(
        pytest.param(kubectl, *each.values, id=f"kubectl {each.id}")
        for each in typed("kubectl", "ridgeline")
    ),
    *(
        pytest.param(ridgeline, *each.values, id=f"ridgeline {each.id}")
        for each in typed("ridgeline")
    ),
]
DEPLOYMENTS = documents(lambda each: each.get("kind") == "Deployment")
CONFIGURATIONS = documents(lambda each: isinstance(each.get("telemetry"), list))


def test_every_relative_link_leads_somewhere() -> None:
    relative = [each for each in links() if not re.match(r"[a-z]+:", each.to)]
    assert len(relative) > 30
    broken = [
        f"{each.page.relative_to(REPOSITORY)}: ({each.to}): {why}"
        for each in relative
        if (why := trouble(each)) is not None
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("nowhere.md", "does not exist"),
        ("README.md#no-such-heading", "has no heading"),
        ("../", "outside the repository"),
    ],
)
def test_a_broken_link_is_found(to: str, why: str) -> None:
    assert why in str(trouble(Link(REPOSITORY / "README.md", to)))


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    known = {found["target"] for found in TARGET.finditer(makefile)}
    named = {
        (str(page.relative_to(REPOSITORY)), found["target"])
        for page in pages()
        for found in SPOKEN_TARGET.finditer(prose(page))
    }
    named |= {
        (str(block.page.relative_to(REPOSITORY)), found["target"])
        for block in blocks()
        if block.language in {"console", "bash", "sh"}
        for found in TYPED_TARGET.finditer(block.body)
    }
    assert {"demo", "test"} <= {target for _, target in named}
    assert {each for each in named if each[1] not in known} == set()


@pytest.mark.parametrize("body", SERVINGS)
def test_every_serving_is_one_that_the_api_takes(body: dict[str, Any]) -> None:
    parse_serving(body, strict=True)


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_spec_fits_into_the_first_serving(part: dict[str, Any]) -> None:
    (first,) = [each.values[0] for each in SERVINGS if each.id == "docs/how-to/first-serving.md"]
    parse_serving({**first, "spec": {**first["spec"], **part}}, strict=True)


def test_stated_acceptance_and_ranges_are_shown() -> None:
    assert {"profiles", "cutoff"} <= {key for each in PARTS for key in each.values[0]}


@pytest.mark.parametrize(("app", "words"), COMMANDS)
def test_every_command_and_option_that_is_typed_exists(
    app: typer.Typer, words: tuple[str, ...]
) -> None:
    command: Any = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    assert not hasattr(command, "commands") or command.invoke_without_command, words[:1]
    known = {option for each in command.params for option in each.opts}
    assert {word for word in words if word.startswith("-")} - known == set()


def test_commands_are_typed() -> None:
    assert {"explain", "release", "record"} <= {words[0] for _, words in map(VALUES, COMMANDS)}


@pytest.mark.parametrize("listing", LISTINGS)
def test_what_is_listed_has_the_columns_and_reasons_that_there_are(
    listing: list[list[str]],
) -> None:
    header, *rows = listing
    columns = [each["name"].upper() for each in SERVING_COLUMNS if not each.get("priority")]
    assert header == ["NAME", *columns]
    assert rows
    for row in rows:
        assert len(row) == len(header)
        assert row[header.index("REASON")] in set(Reason)


def test_a_first_contact_is_in_the_newcomers_path() -> None:
    shown = {each.id: str(each.values[0]) for each in LISTINGS}
    assert "CutoffUndecided" in shown["README.md"]
    readme = (REPOSITORY / "README.md").read_text()
    assert readme.count("ridgeline.dev/force-profile") >= 2
    assert "acceptancePercent" in readme


def test_the_readme_shows_a_serving() -> None:
    assert "README.md" in [each.id for each in SERVINGS]


@pytest.mark.parametrize("body", DEPLOYMENTS)
def test_every_deployment_takes_its_config_from_the_env_item(body: dict[str, Any]) -> None:
    (container,) = body["spec"]["template"]["spec"]["containers"]
    point = injection_point(trim_container(container))
    assert point == InjectionPoint(text="", set_by_item=False)


def test_both_forms_of_a_deployment_are_shown() -> None:
    commands = [each.values[0]["spec"]["template"]["spec"]["containers"][0] for each in DEPLOYMENTS]
    assert {each["command"][0] for each in commands} == {"vllm", "sh"}


@pytest.mark.parametrize("body", CONFIGURATIONS)
def test_every_configuration_is_one_that_the_operator_reads(body: dict[str, Any]) -> None:
    parse_config(body)


def test_a_configuration_is_shown() -> None:
    assert CONFIGURATIONS


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        pytest.param(tool.main, name, id=name)
        for tool, name in (
            (cli, "cli.md"),
            (configuration, "configuration.md"),
            (alerts, "alerts.md"),
            (metrics, "metrics.md"),
            (reasons, "reasons.md"),
        )
    ],
)
def test_the_generated_pages_are_in_step(
    tool: Callable[[Sequence[str]], int], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = tool(["--check", str(REPOSITORY / "docs" / "reference" / name)])
    assert status == 0, capsys.readouterr().err


def test_every_situation_that_needs_a_person_has_a_runbook() -> None:
    folder = REPOSITORY / "docs" / "runbooks"
    told = "".join(page.read_text() for page in folder.glob("*.md"))
    assert {each.value for each in NEEDS_A_PERSON if f"`{each.value}`" not in told} == set()


def test_every_page_of_the_docs_can_be_reached() -> None:
    start = REPOSITORY / "README.md"
    reached, todo = {start}, [start]
    by_page: dict[Path, list[str]] = {}
    for link in links():
        by_page.setdefault(link.page, []).append(link.to)
    while todo:
        page = todo.pop()
        for to in by_page.get(page, ()):
            target = (page.parent / to.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                reached.add(target)
                todo.append(target)
    lost = {str(each.relative_to(REPOSITORY)) for each in set(pages()) - reached}
    assert lost == set()
