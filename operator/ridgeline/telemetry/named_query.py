"""What a named query is, and what fills its template."""

from dataclasses import dataclass
from enum import StrEnum
from string import Template
from typing import Final

from ridgeline.telemetry.endpoint import Endpoint, Matcher

ENGINE_LABEL: Final = "engine"
POSITION_LABEL: Final = "position"
REASON_LABEL: Final = "finished_reason"

AGE_STEPS: Final = 8
"""Steps in which the newest sample of a failing target is looked for within the window."""


class Cadence(StrEnum):
    """How often a query is asked."""

    EVERY_TICK = "every tick"
    SLOW = "slow"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """What fills a template: the endpoint's labels and matchers, and the rate window.

    Attributes:
        by: Labels that name an engine, comma separated.
        namespace: Label that holds a Pod's namespace.
        pod: Label that holds a Pod's name.
        matchers: Static matchers in PromQL, escaped, comma separated; may be empty.
        more_matchers: The same with a comma before it, for selectors that have a matcher already.
        window: Rate window as a PromQL duration.
        age_step: Resolution at which a failing target's newest sample is looked for.
    """

    by: str
    namespace: str
    pod: str
    matchers: str
    more_matchers: str
    window: str
    age_step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedQuery:
    """One documented query.

    Attributes:
        name: Its name in messages, metrics and docs.
        template: PromQL with `$`-parameters.
        parameters: Names of the parameters that the template uses, fields of `QueryContext`.
        unit: Unit of the values.
        description: What the values are.
        why: Why the query is written as it is.
        trap: How the number could be misread, and what guards against it.
        fallback: What is known when the query finds nothing.
        cadence: Whether it is asked each tick or rarely.
        labels: Labels of the answer beside namespace and Pod.
    """

    name: str
    template: str
    parameters: tuple[str, ...]
    unit: str
    description: str
    why: str
    trap: str
    fallback: str
    cadence: Cadence
    labels: tuple[str, ...] = (ENGINE_LABEL,)

    def render(self, context: QueryContext) -> str:
        """The PromQL to send.

        Raises:
            KeyError: The template uses a parameter that it does not declare.
        """
        return Template(self.template).substitute(
            {name: getattr(context, name) for name in self.parameters}
        )


def query_context(endpoint: Endpoint, window_seconds: float) -> QueryContext:
    """Fill-ins for the queries of one endpoint.

    Raises:
        ValueError: The window is shorter than a second or not finite.
    """
    if not 1 <= window_seconds < float("inf"):
        raise ValueError(f"window_seconds: {window_seconds!r} must be finite and at least 1")
    matchers = ", ".join(_matcher(matcher) for matcher in endpoint.matchers)
    return QueryContext(
        by=f"{endpoint.namespace_label}, {endpoint.pod_label}, {ENGINE_LABEL}",
        namespace=endpoint.namespace_label,
        pod=endpoint.pod_label,
        matchers=matchers,
        more_matchers=f", {matchers}" if matchers else "",
        window=_duration(window_seconds),
        age_step=_duration(window_seconds / AGE_STEPS),
    )


def _duration(seconds: float) -> str:
    """A PromQL duration; milliseconds, since Prometheus 2 takes no fractions of a second."""
    return f"{round(seconds)}s" if seconds == round(seconds) else f"{round(seconds * 1000)}ms"


def _matcher(matcher: Matcher) -> str:
    return f"{matcher.label}{matcher.operator}{quote(matcher.value)}"


def quote(value: str) -> str:
    """A PromQL string literal that means exactly `value`."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped.replace(chr(13), chr(92) + "r")}"'
