"""The stand-in's own settings, from environment variables (the table is in the package's docs)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ridgeline.sim.stand_in.contract import DEFAULT_VERSION, UnknownVersionError, contract_for
from ridgeline.sim.stand_in.profile_faults import ProfileFaults
from ridgeline.sim.stand_in.step_time import StepTimeModel

PREFIX = "STAND_IN_"
NEVER = math.inf


class InvalidSettingError(ValueError):
    """A variable with a name or value that means nothing."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Seconds after readiness at which something goes wrong; infinite means never."""

    die_after_s: float = NEVER
    die_exit_code: int = 1
    hang_after_s: float = NEVER
    metrics_503_after_s: float = NEVER
    freeze_counters_after_s: float = NEVER


@dataclass(frozen=True, kw_only=True)
class StandInSettings:
    """Everything that vLLM's own flags do not say. Field by field as in the package's table.

    Attributes:
        answer_share: What multiplies the length of answers under the profile that is served.
    """

    engine_version: str = DEFAULT_VERSION
    startup_s: float = 5.0
    shutdown_s: float = 1.0
    step_time: StepTimeModel = field(default_factory=StepTimeModel)
    acceptance: tuple[float, ...] = (0.6, 0.55, 0.5, 0.45)
    mean_output_tokens: float = 0.0
    kv_tokens: int = 209_664
    gauge_flicker: float = 0.05
    seed: int = 0
    missing_models: frozenset[str] = frozenset({"nowhere"})
    vocabulary: Mapping[str, int] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    serves_after_s: float = 0.0
    boot_spread: float = 0.0
    boot_name: str = ""
    answer_share: float = 1.0
    profile_faults: ProfileFaults = field(default_factory=ProfileFaults)


class _Reader:
    """Takes variables out of an environment and remembers which were asked for."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._given = {
            name: value
            for name, value in environment.items()
            if name.startswith(PREFIX) and not _of_a_service(name)
        }
        self._asked: set[str] = set()

    def text(self, name: str, default: str) -> str:
        self._asked.add(PREFIX + name)
        return self._given.get(PREFIX + name, default)

    def number(self, name: str, default: float, *, low: float = 0.0, high: float = NEVER) -> float:
        given = self.text(name, "")
        if not given.strip():
            return default
        try:
            value = float(given)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and low <= value <= high):
            raise InvalidSettingError(
                f"{PREFIX}{name}={given!r} is not a number from {low:g} to {high:g}; "
                "mend it or unset it"
            )
        return value

    def optional(self, name: str) -> float | None:
        value = self.number(name, -1.0)
        return None if value < 0 else value

    def whole(self, name: str, default: int, *, low: int = 0, high: float = NEVER) -> int:
        value = self.number(name, float(default), low=low, high=high)
        if value != int(value):
            raise InvalidSettingError(f"{PREFIX}{name}={value:g} is not a whole number; round it")
        return int(value)

    def refuse_others(self) -> None:
        unknown = sorted(set(self._given) - self._asked)
        if unknown:
            raise InvalidSettingError(
                f"{unknown[0]} is not a setting of the stand-in; "
                "see the table in docs/reference/stand-in.md"
            )


def _of_a_service(name: str) -> bool:
    """Kubernetes sets such names in every Pod beside a Service that is called stand-in."""
    rest = name.removeprefix(PREFIX)
    return rest.startswith(("SERVICE_", "PORT_")) or rest == "PORT"


def read_settings(environment: Mapping[str, str]) -> StandInSettings:
    """The settings in ``environment``.

    Raises:
        InvalidSettingError: A variable has an unknown name or a value out of its range.
    """
    reader = _Reader(environment)
    settings = StandInSettings(
        engine_version=_version(reader),
        startup_s=reader.number("STARTUP_SECONDS", 5.0),
        shutdown_s=reader.number("SHUTDOWN_SECONDS", 1.0),
        step_time=_step_time(reader),
        acceptance=_acceptance(reader),
        mean_output_tokens=reader.number("MEAN_OUTPUT_TOKENS", 0.0),
        kv_tokens=reader.whole("KV_TOKENS", 209_664, low=1),
        gauge_flicker=reader.number("GAUGE_FLICKER", 0.05, high=1.0),
        seed=reader.whole("SEED", 0),
        missing_models=frozenset(_listed(reader.text("MISSING_MODELS", "nowhere"))),
        vocabulary=_vocabulary(reader),
        faults=_faults(reader),
        serves_after_s=reader.number("SERVES_AFTER_SECONDS", 0.0),
        boot_spread=reader.number("BOOT_SPREAD", 0.0, high=0.9),
        boot_name=environment.get("HOSTNAME", ""),
        profile_faults=_profile_faults(reader),
    )
    reader.refuse_others()
    return settings


def _version(reader: _Reader) -> str:
    version = reader.text("ENGINE_VERSION", "").strip() or DEFAULT_VERSION
    try:
        contract_for(version)
    except UnknownVersionError as error:
        raise InvalidSettingError(f"{PREFIX}ENGINE_VERSION: {error}") from error
    return version


def _step_time(reader: _Reader) -> StepTimeModel:
    default = StepTimeModel()
    return StepTimeModel(
        base_ms=reader.number("STEP_BASE_MS", default.base_ms),
        request_ms=reader.number("STEP_REQUEST_MS", default.request_ms),
        token_ms=reader.number("STEP_TOKEN_MS", default.token_ms),
        knee_tokens=reader.number("KNEE_TOKENS", default.knee_tokens),
        prefill_token_ms=reader.number("PREFILL_TOKEN_MS", default.prefill_token_ms),
        draft_ms=reader.optional("DRAFT_MS"),
        draft_request_ms=reader.optional("DRAFT_REQUEST_MS"),
        scale=reader.number("TIME_SCALE", 1.0, low=1e-6),
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _acceptance(reader: _Reader) -> tuple[float, ...]:
    text = reader.text("ACCEPTANCE", "") or "0.6,0.55,0.5,0.45"
    try:
        values = tuple(float(part) for part in _listed(text))
    except ValueError:
        values = ()
    if not values or not all(0.0 <= v <= 1.0 for v in values):
        raise InvalidSettingError(
            f"{PREFIX}ACCEPTANCE={text!r} must be probabilities by commas, like 0.6,0.5"
        )
    return values


def _vocabulary(reader: _Reader) -> dict[str, int]:
    sizes = {}
    for part in _listed(reader.text("VOCABULARY", "")):
        model, _, size = part.rpartition("=")
        if not model or not size.isdigit():
            raise InvalidSettingError(f"{PREFIX}VOCABULARY: {part!r} must read model=size")
        sizes[model] = int(size)
    return sizes


def _faults(reader: _Reader) -> Faults:
    return Faults(
        die_after_s=reader.number("DIE_AFTER_SECONDS", NEVER),
        die_exit_code=reader.whole("DIE_EXIT_CODE", 1, high=255),
        hang_after_s=reader.number("HANG_AFTER_SECONDS", NEVER),
        metrics_503_after_s=reader.number("METRICS_503_AFTER_SECONDS", NEVER),
        freeze_counters_after_s=reader.number("FREEZE_COUNTERS_AFTER_SECONDS", NEVER),
    )


def _profile_faults(reader: _Reader) -> ProfileFaults:
    def named(name: str) -> frozenset[str]:
        return frozenset(_listed(reader.text(name, "")))

    return ProfileFaults(
        refused=named("REFUSES"),
        misfit=named("MISFITS"),
        killed=named("KILLED_FOR_MEMORY"),
        never_ready=named("NEVER_READY"),
        faults_under=named("FAULTS_UNDER"),
        startup_s=_numbers(reader, "STARTUP_BY_PROFILE", "seconds"),
        step_factor=_numbers(reader, "STEP_FACTOR", "factor", low=1e-6),
        answer_share=_numbers(reader, "ANSWER_SHARE", "share", low=1e-6),
    )


def _numbers(reader: _Reader, name: str, noun: str, *, low: float = 0.0) -> dict[str, float]:
    """Read `profile=number` by commas."""
    values = {}
    for part in _listed(reader.text(name, "")):
        profile, _, text = part.rpartition("=")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not profile or not (math.isfinite(value) and value >= low):
            raise InvalidSettingError(
                f"{PREFIX}{name}: {part!r} must read profile={noun}, like eagle=2, "
                f"with a {noun} of at least {low:g}"
            )
        values[profile] = value
    return values
