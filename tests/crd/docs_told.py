"""What the pages show and this machine does not execute here: where else, or why not at all."""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """Executed by another test.

    Attributes:
        page: Path of the page; a regular expression.
        what: A command, or a manifest's title; a regular expression.
        test: File of the test.
    """

    page: str
    what: str
    test: str

    def covers(self, page: str, what: str) -> bool:
        """Tell whether it is about that."""
        return bool(re.fullmatch(self.page, page) and re.match(self.what, what))


@dataclass(frozen=True, kw_only=True)
class Exempt:
    """Executed by no test.

    Attributes:
        page: Path of the page; a regular expression.
        what: A command, or a manifest's title; a regular expression.
        why: What it needs that is not here.
    """

    page: str
    what: str
    why: str

    def covers(self, page: str, what: str) -> bool:
        """Tell whether it is about that."""
        return bool(re.fullmatch(self.page, page) and re.match(self.what, what))


HOW_TO: Final = "docs/how-to/"

COMMANDS_ELSEWHERE: Final = (
    Elsewhere(
        page=HOW_TO + "advise.md",
        what=r"ridgeline (advise|model)",
        test="tests/unit/docs/test_advise_how_to.py",
    ),
    Elsewhere(
        page=HOW_TO + "simulate.md",
        what=r"ridgeline simulate",
        test="tests/unit/docs/test_simulate_how_to.py",
    ),
    Elsewhere(
        page=HOW_TO + "replay.md",
        what=r"ridgeline replay",
        test="tests/unit/docs/test_simulate_how_to.py",
    ),
    Elsewhere(
        page=HOW_TO + "record.md",
        what=r"ridgeline record",
        test="tests/unit/cli/test_record_command.py",
    ),
    Elsewhere(page=HOW_TO + "guard.md", what=r"kubectl set image", test="tests/crd/test_guard.py"),
    Elsewhere(
        page=HOW_TO + "(install|uninstall).md",
        what=r"helm (upgrade|uninstall)",
        test="tests/e2e/test_e2e_install.py",
    ),
    Elsewhere(
        page=HOW_TO + "run-locally.md",
        what=r"(ridgeline run|curl) ",
        test="tests/e2e/test_steady_state.py",
    ),
)
"""Commands that another test executes, or the same with other names."""

COMMANDS_EXEMPT: Final = (
    Exempt(page=".*", what=r"make |\.venv/bin/python -m tests", why="the developer's own machine"),
    Exempt(page=".*", what=r"(my-venv/bin/)?pip |python3 -m venv", why="a package index"),
    Exempt(page=".*", what=r"export PATH=", why="the reader's shell"),
    Exempt(page=".*", what=r"eval ", why="the reader's shell"),
    Exempt(page=".*", what=r"docker |kind ", why="a container engine"),
    Exempt(
        page=".*", what=r"cosign |export (WORKFLOW|ISSUER)|git ls-remote", why="a release online"
    ),
    Exempt(page=".*", what=r"python -m ", why="changes files of the repository"),
    Exempt(
        page=".*", what=r"kubectl logs -n inference -f", why="a node that runs Pods, with a GPU"
    ),
    Exempt(page=HOW_TO + "explain.md", what=r"kubectl port-forward", why="a node that runs Pods"),
    Exempt(page=HOW_TO + "helm.md", what=r"helm upgrade", why="the reader's own chart"),
    Exempt(page=HOW_TO + "parents.md", what=r"helm upgrade", why="an installed release"),
    Exempt(page=HOW_TO + "monitoring.md", what=r"helm test", why="a node that runs Pods"),
    Exempt(page=HOW_TO + "calibrate.md", what=r"ridgeline calibrate measure", why="vLLM and a GPU"),
    Exempt(
        page=HOW_TO + "guard.md",
        what=r"kubectl get validatingadmissionpolicy ridgeline",
        why="an installed guard would bind the other tests of this server",
    ),
)
"""Commands that no test executes."""

MANIFESTS_ELSEWHERE: Final = (
    Elsewhere(
        page=HOW_TO + "(argocd|flux|quick-paths).md",
        what=r"(Application|Kustomization|PodMonitor)$",
        test="tests/gitops/test_manifests.py",
    ),
    Elsewhere(
        page=HOW_TO + "quick-paths.md",
        what=r"(servingEngineSpec|decode)$",
        test="tests/gitops/test_manifests.py",
    ),
    Elsewhere(
        page=HOW_TO + "lint.md", what=r"StatefulSet$", test="tests/unit/cli/test_lint_page.py"
    ),
    Elsewhere(
        page=HOW_TO + "advise.md", what=r"model$", test="tests/unit/docs/test_advise_how_to.py"
    ),
)
"""Manifests that another test applies or renders."""

MANIFESTS_EXEMPT: Final = (
    Exempt(page=HOW_TO + "lint.md", what=r"(jobs|lint-speculation)$", why="a CI service"),
    Exempt(page=HOW_TO + "new-engine-version.md", what=r"list$", why="rows of our own data file"),
)
"""Manifests that nothing applies."""
