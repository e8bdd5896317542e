"""Words from outside are shown as they are: brackets in them are no style."""

from rich.console import Console

from ridgeline.render.serving import lines_table, serving_page

WORDS = "spec.template.spec.containers[vllm] [/red] [bold]x"


def shown(page: object) -> str:
    console = Console(width=200)
    with console.capture() as caught:
        console.print(page)
    return caught.get()


def test_a_table_shows_brackets() -> None:
    assert WORDS in shown(lines_table("title [/red]", ("what",), ((WORDS,),)))


def test_a_status_shows_brackets() -> None:
    decision = {"reason": "FieldConflict", "message": WORDS}
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "FieldConflict",
        "lastTransitionTime": "-",
        "message": WORDS,
    }
    page = shown(serving_page("a/b", {"lastDecision": decision, "conditions": [condition]}, ()))
    assert page.count(WORDS) == 2
