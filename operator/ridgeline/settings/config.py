"""The operator's own configuration: one YAML file, read once at start.

Addresses and secrets stand only here (and in files that this names), never in a namespaced object.
"""

from pathlib import Path
from typing import Annotated, Final

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from ridgeline.settings.config_model import ConfigModel, Name
from ridgeline.settings.endpoints import LEAST_TICKS_OF_WINDOW, EndpointConfig
from ridgeline.terms.parents import ParentKind

ObjectName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        max_length=253,
    ),
]

_MAY_BE_SECRET: Final = frozenset({"url", "headers", "parameters", "username", "value"})
"""Fields of an endpoint whose content no message repeats."""


class InvalidConfigError(ValueError):
    """The configuration file cannot be used; the text names the field and the way out."""


class LeaseConfig(ConfigModel):
    """The Lease whose holder acts; other replicas only watch."""

    enabled: bool = Field(default=True, description="Off only for a single process on a desk.")
    namespace: Name = Field(default="ridgeline-system", description="Namespace of the Lease.")
    name: ObjectName = Field(default="ridgeline", description="Name of the Lease.")
    duration_seconds: int = Field(
        default=12, ge=5, le=600, description="How long a silent holder keeps it."
    )


class RecordConfig(ConfigModel):
    """What the operator writes down of its passes, for `ridgeline record cut` and bug reports."""

    directory: Path | None = Field(
        default=None, description="Folder for the files; not set: nothing is written down."
    )
    max_mib: int = Field(
        default=256,
        ge=1,
        le=1048576,
        alias="maxMiB",
        description="Most MiB that the files may take together; the oldest is dropped.",
    )


class OperatorConfig(ConfigModel):
    """The whole file."""

    namespaces: tuple[Name, ...] = Field(
        default=(), description="Namespaces to watch; empty means all."
    )
    tick_seconds: float = Field(
        default=15.0, ge=1, le=600, description="How often telemetry is read and all is decided."
    )
    rate_window_seconds: int = Field(
        default=120, ge=4, le=3600, description="Window of the rates; at least four scrapes."
    )
    stale_after_seconds: float = Field(
        default=60.0, gt=0, le=3600, description="Samples older than this are not acted on."
    )
    relist_seconds: float = Field(
        default=600.0, ge=10, le=86400, description="How often the watch store is listed anew."
    )
    max_concurrent_rolls: int = Field(
        default=3, ge=1, le=1000, description="Rolls under way at a time, over all servings."
    )
    max_concurrent_rolls_per_pool: int = Field(
        default=1, ge=1, le=1000, description="Of these, rolls at a time on one type of GPU."
    )
    parents: tuple[ParentKind, ...] = Field(
        default=(),
        max_length=len(ParentKind),
        description="Kinds of objects that are written instead of the Deployments that they made; "
        "empty: such Deployments get recommendations only.",
    )
    allow_args: bool = Field(
        default=False,
        description="Let servings with injection mode Args have the argument lists of their "
        "containers written. The chart sets it from guard.allowArgs, since the guard must admit "
        "it, too.",
    )
    freeze: bool = Field(
        default=False,
        description="While true, nothing is begun in any target, whatever servings say; canaries "
        "under way are taken back. Read anew at every "
        "tick.",
    )
    port: int = Field(
        default=8080, ge=0, le=65535, description="Port of /metrics, /healthz and /readyz; 0: any."
    )
    explain: bool = Field(
        default=True,
        description="Serve /explain/NAMESPACE/SERVING on the same port: what the last pass over a "
        "serving knew and decided, for kubectl ridgeline explain. Reads alone, no login.",
    )
    profiling: bool = Field(
        default=False,
        description="Serve /debug/profile on the same port: stacks of the running operator, "
        "without any value.",
    )
    lease: LeaseConfig = Field(default_factory=LeaseConfig)
    record: RecordConfig = Field(
        default_factory=RecordConfig, description="What is written down of every pass."
    )
    telemetry: tuple[EndpointConfig, ...] = Field(
        min_length=1, max_length=64, description="Telemetry endpoints."
    )

    @field_validator("telemetry")
    @classmethod
    def _distinct_names(cls, endpoints: tuple[EndpointConfig, ...]) -> tuple[EndpointConfig, ...]:
        names = [each.name for each in endpoints]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the endpoint name {twice[0]!r} is used twice: rename one")
        return endpoints

    @model_validator(mode="after")
    def _window_of_scrapes(self) -> "OperatorConfig":
        scraped = any(each.source == "Pods" for each in self.telemetry)
        if scraped and self.rate_window_seconds < LEAST_TICKS_OF_WINDOW * self.tick_seconds:
            raise ValueError(
                f"rateWindowSeconds {self.rate_window_seconds} is shorter than "
                f"{LEAST_TICKS_OF_WINDOW} ticks of {self.tick_seconds:g} s, and Pods are scraped "
                "once a tick: raise it, or lower tickSeconds"
            )
        return self


_FILE: Final = "the configuration file"


def load_config(path: Path) -> OperatorConfig:
    """Read the configuration file.

    Raises:
        InvalidConfigError: It cannot be read, is no YAML mapping, or a field is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidConfigError(
            f"{_FILE} {path} cannot be read ({error.strerror}): name another with --config; the "
            "smallest is `telemetry: [{url: http://127.0.0.1:9090}]`, see "
            "docs/how-to/run-locally.md"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidConfigError(f"{_FILE} {path} is not UTF-8 text: save it as UTF-8") from error
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # Without a chain: YAML's own message repeats lines of the file, which may hold secrets.
        raise InvalidConfigError(f"{_FILE} {path} is not YAML{_place(error)}") from None
    if not isinstance(content, dict):
        raise InvalidConfigError(f"{_FILE} {path} must hold a mapping with at least `telemetry`")
    return parse_config(content, source=str(path))


def parse_config(content: dict[str, object], *, source: str = _FILE) -> OperatorConfig:
    """Read a configuration that is already a mapping.

    Raises:
        InvalidConfigError: A field is wrong.
    """
    try:
        return OperatorConfig.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        # Without a chain: pydantic's own message repeats what was given, which may be a secret.
        raise InvalidConfigError(f"{source}: {where}: {_complaint(first)}") from None


def _complaint(error: ErrorDetails) -> str:
    """Say what is wrong with a field and what was given, unless that may be a secret."""
    given, path = error["input"], error["loc"]
    if error["type"] == "missing":
        return "the field is required: set it"
    if error["type"] == "extra_forbidden":
        return "there is no such field: remove it, or correct its spelling"
    message = error["msg"].removeprefix("Value error, ")
    in_endpoint = path[:1] == ("telemetry",)
    tells = not in_endpoint or (len(path) > 2 and not _MAY_BE_SECRET.intersection(path))
    if not tells or not isinstance(given, str | int | float | bool | None):
        return message
    return f"{message} (got {given!r:.80})"


def _place(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None)
    if mark is None:
        return ": check its quotes and indentation"
    return f": line {mark.line + 1}, column {mark.column + 1}: {problem or 'cannot be read'}"
