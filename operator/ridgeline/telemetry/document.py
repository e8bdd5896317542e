"""The reference page of the named queries, made from the registry.

`python -m ridgeline.telemetry.document FILE` writes the page, `--check` only compares it.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ridgeline.telemetry.endpoint import Endpoint
from ridgeline.telemetry.queries import REGISTRY, Cadence, NamedQuery, QueryContext, query_context
from ridgeline.telemetry.signals import SIGNALS

_HEAD: Final = """# Telemetry: the named queries

This page is generated: `python -m ridgeline.telemetry.document docs/reference/telemetry.md`.

ridgeline asks every telemetry endpoint these queries and no others. Each is one signal of *all*
servings of the endpoint, so their number does not grow with the servings. The queries of a tick
share one evaluation time and one deadline. They are shown with the default labels (`namespace`,
`pod`), a window of two minutes and no extra matchers; an endpoint's matchers are added to every
selector.

What all of them rely on:

- Series carry the Pod's namespace and name in two labels; `engine` is vLLM's own label.
- An engine that is scraped twice counts once (`max by`); two servers under one name are left out
  and reported.
- `rate()` survives counter resets, needs two samples, and reads too low while a Pod is younger than
  the window.
- NaN and infinities are never compared: the number counts as missing, and its query is named.
- No series is no number. It is never read as 0.
"""

_SIGNALS_HEAD: Final = """## From queries to signals

What is known of one engine, as `EngineFacts` names it. The five queries of every tick are of now;
slow ones are up to five ticks old, and forgotten after three minutes. Both sides of a ratio are
always of one evaluation time. Where a query finds nothing, NaN or two different servers, the
signals made of it are unknown.
"""


def page() -> str:
    """The whole page."""
    context = query_context(Endpoint(name="example", url="http://prometheus:9090"), 120.0)
    parts = [_HEAD, _signals(), _table()]
    parts += [_section(query, context) for query in REGISTRY.values()]
    return "\n".join(parts)


def _signals() -> str:
    lines = [
        _SIGNALS_HEAD,
        "| Signal | Unit | From | Also unknown when |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{each.name}` | {each.unit} | {each.formula} | {each.unknown} |" for each in SIGNALS
    ]
    return "\n".join(lines) + "\n"


def _table() -> str:
    lines = ["## The queries\n"]
    lines += ["| Query | Asked | Unit | What it is |", "|---|---|---|---|"]
    for query in REGISTRY.values():
        asked = "every tick" if query.cadence is Cadence.EVERY_TICK else "every fifth tick"
        lines.append(
            f"| [`{query.name}`](#{query.name}) | {asked} | {query.unit} | {query.description} |"
        )
    return "\n".join(lines) + "\n"


def _section(query: NamedQuery, context: QueryContext) -> str:
    labels = ", ".join(("namespace", "Pod", *(f"`{label}`" for label in query.labels)))
    return (
        f"## {query.name}\n\n{query.description} Unit: {query.unit}. Labels: {labels}."
        f"\n\n```promql\n{query.render(context)}\n```\n\n{query.why}\n\n"
        f"**Trap.** {query.trap}\n\n**Without it.** {query.fallback}\n"
    )


def main(arguments: Sequence[str]) -> int:
    """Write or check the page; 0 when it is in step, 1 when not, 2 on wrong arguments."""
    check = "--check" in arguments
    files = [argument for argument in arguments if argument != "--check"]
    if len(files) != 1:
        sys.stderr.write("usage: python -m ridgeline.telemetry.document [--check] FILE\n")
        return 2
    path = Path(files[0])
    if not check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(), encoding="utf-8")
        return 0
    if path.is_file() and path.read_text(encoding="utf-8") == page():
        return 0
    sys.stderr.write(
        f"{path} is not in step with the registry of queries; run "
        f"python -m ridgeline.telemetry.document {path}\n"
    )
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
