"""Every command's help has examples that its own parser takes, and says how the command ends."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ridgeline.cli import kubectl, main
from ridgeline.cli.help_parts import USUAL_STATUSES, parts_of, tail
from ridgeline.cli.lazy import Named
from ridgeline.sim.load.command import parser as load_parser
from ridgeline.sim.stand_in.contract import DEFAULT_VERSION, contract_for
from ridgeline.sim.stand_in.flags import parse_serve_arguments

UsageError = typer.BadParameter.__mro__[1]
PROGRAMS = {"ridgeline": main.app, "kubectl ridgeline": kubectl.app}


def walk(name: str, command: Any) -> Iterator[Any]:
    yield pytest.param(name, command, id=name)
    for word, inner in getattr(command, "commands", {}).items():
        yield from walk(f"{name} {word}", inner)


COMMANDS = [
    each for name, app in PROGRAMS.items() for each in walk(name, typer.main.get_command(app))
]
EXAMPLES = [
    pytest.param(example, id=f"{each.values[0]}: {example}")
    for each in COMMANDS
    for example in each.values[1].parts.examples
]


def calls(example: str) -> Iterator[list[str]]:
    """The calls of our programs in a line of a shell, without variables before and pipes around."""
    words = [each for each in shlex.split(example) if not re.match(r"[A-Z_]+=", each)]
    ends = [index for index, each in enumerate([*words, "|"]) if each in {"|", "--"}]
    for begin, end in zip([0, *(each + 1 for each in ends)], ends, strict=False):
        part = words[begin:end]
        if any(part[: len(program.split())] == program.split() for program in PROGRAMS):
            yield part


def parsed(words: list[str]) -> str:
    """Let the command's own parser read a call; return the command's name."""
    program = "kubectl ridgeline" if words[0] == "kubectl" else "ridgeline"
    command: Any = typer.main.get_command(PROGRAMS[program])
    name, left = program, words[len(program.split()) :]
    while left and left[0] in getattr(command, "commands", {}):
        command, name, left = command.commands[left[0]], f"{name} {left[0]}", left[1:]
    if name == "ridgeline load":
        load_parser().parse_args(left)
    elif name == "ridgeline stand-in":
        parse_serve_arguments(left, contract_for(DEFAULT_VERSION))
    else:
        context = command.make_context(name, left)
        assert not context.args, f"{context.args} would not be read"
    return name


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_every_command_has_one_to_three_examples(name: str, command: Any) -> None:
    assert 1 <= len(command.parts.examples) <= 3
    shown = [" ".join(words) for example in command.parts.examples for words in calls(example)]
    assert any(each.startswith(name) for each in shown)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_one_that_its_command_reads(example: str) -> None:
    found = [parsed(words) for words in calls(example)]
    assert found
    assert "ridgeline" not in found, "it names no command"


@pytest.mark.parametrize(("name", "command"), COMMANDS)
def test_the_help_ends_with_examples_and_exit_statuses(name: str, command: Any) -> None:
    program = next(each for each in reversed(PROGRAMS) if name.startswith(each))
    words = name.removeprefix(program).split()
    told = CliRunner().invoke(PROGRAMS[program], [*words, "--help"], prog_name=program)
    assert told.exit_code == 0
    assert told.output.rstrip().endswith(tail(command.parts).rstrip())
    statuses = [each.partition(" ")[0] for each in command.parts.statuses]
    assert statuses[0] == "0"
    assert statuses[-1] in {"2", "130"} or name == "ridgeline stand-in"


@pytest.mark.parametrize("named", [*main.COMMANDS, *kubectl.COMMANDS], ids=lambda each: each.name)
def test_a_command_is_listed_with_the_first_sentence_of_its_help(named: Named) -> None:
    assert named.load().help.partition("\n")[0] == named.summary


@pytest.mark.parametrize(
    "example", ["ridgeline advise --no-such 1", "ridgeline simulate -o csv", "ridgeline lint"]
)
def test_a_wrong_example_would_be_found(example: str) -> None:
    with pytest.raises(UsageError):
        parsed(shlex.split(example))


@pytest.mark.parametrize("module", ["main", "kubectl"])
def test_showing_help_imports_no_command(module: str) -> None:
    """What a person waits for at `--help` and at each completion is these imports."""
    heavy = {"aiohttp", "kopf", "kubernetes", "matplotlib", "numpy", "pydantic", "rich", "yaml"}
    program = (
        "import sys\n"
        f"from ridgeline.cli.{module} import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"sys.exit(','.join(sorted(set(sys.modules) & {heavy!r})) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Commands:" in done.stdout


def test_a_docstring_is_taken_apart() -> None:
    parts = parts_of(
        "Do it.\n\nIn two\nlines.\n\nExamples:\n  a --b 1\n      --c 2\n  d\n\n"
        "Exit status:\n  0 when\n    done.\n  3 when not.\n"
    )
    assert parts.about == "Do it.\n\nIn two lines."
    assert parts.examples == ("a --b 1 --c 2", "d")
    assert parts.statuses == ("0 when done.", "3 when not.")
    assert parts_of("Do it.").statuses == USUAL_STATUSES
    assert "Example:" not in tail(parts_of("Do it."))


def test_a_long_example_is_folded_as_a_shell_reads_it() -> None:
    example = "a " + " ".join(f"--option-{index} value" for index in range(12)) + " | b -"
    told = tail(parts_of(f"Do it.\n\nExample:\n  {example}"))
    shown = told.partition("\n")[2].partition("\n\n")[0]
    assert max(map(len, shown.splitlines())) <= 100
    assert shlex.split(shown.replace("\\\n", " ")) == shlex.split(example)
