"""The documentation as a site: `make site` builds it, and fails on a link that leads nowhere."""

import re
from typing import Any, Final

from ridgeline import __version__

project = "ridgeline"
author = "the ridgeline authors"
copyright = "the ridgeline authors"
release = __version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["site/**"]
nitpicky = True
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # the lexer of PromQL does not know colons
html_theme = "furo"
html_title = f"ridgeline {release}"
html_show_sphinx = False
html_theme_options = {"source_repository": "https://github.com/ridgeline-dev/ridgeline"}

REPOSITORY: Final = "https://github.com/ridgeline-dev/ridgeline"
SECTIONS: Final = {
    "How to": "how-to/*",
    "Understand it": "concepts/*",
    "Look it up": "reference/*",
    "When something is wrong": "runbooks/*",
    "Design notes": "design/*",
    "More": "*",
}
"""What the side bar shows: every page, in folders."""

_LINK: Final = re.compile(r"\]\((?P<up>(?:\.\./)+)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def _lead_out(_: Any, name: str, content: list[str]) -> None:
    """Make links that leave docs/ lead to the file in the repository."""
    depth = name.count("/")

    def leads(found: re.Match[str]) -> str:
        if found["up"].count("../") <= depth:
            return found[0]
        return f"]({REPOSITORY}/blob/main/{found['path']}{found['anchor'] or ''})"

    content[0] = _LINK.sub(leads, content[0])
    if name == root_doc:
        content[0] += "".join(
            f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {title}\n\n{pages}\n```\n"
            for title, pages in SECTIONS.items()
        )


def setup(app: Any) -> None:
    """Register what happens while pages are read."""
    app.connect("source-read", _lead_out)
