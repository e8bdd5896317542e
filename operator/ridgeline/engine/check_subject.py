"""What is checked before a server starts: its release, its speculative config, and what is around.

Whatever is not known is `None` or empty, and no check guesses it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.memory import Room
from ridgeline.engine.contract import Circumstance, EngineContract
from ridgeline.engine.findings import Finding, Severity, shown
from ridgeline.engine.flags import flag_value, flag_words, whole_number
from ridgeline.engine.served_model import ServedModel, served_model

CONFIG_FLAG: Final = "--speculative-config"
SCHEDULE: Final = "num_speculative_tokens_per_batch_size"
LOOKAHEAD: Final = "num_speculative_tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedModel:
    """What a `config.json` tells of a model, a head or a draft model.

    Attributes:
        name: Its name.
        vocabulary: Tokens of its vocabulary (`vocab_size`).
        hidden: Width of its hidden states; of a head, of the target that it was trained for.
        model_type: `model_type` of the text part.
        mtp_layers: Layers for multi-token prediction; 0: none.
        trained_lookahead: Longest draft that a head was trained for.
        speculators: Whether it is a checkpoint of the `speculators` library.
    """

    name: str = ""
    vocabulary: int | None = None
    hidden: int | None = None
    model_type: str = ""
    mtp_layers: int | None = None
    trained_lookahead: int | None = None
    speculators: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One server and one speculative config.

    Attributes:
        contract: What its release accepts.
        config: The speculative config; `None` for none.
        words: Command and arguments of the container.
        environment: Values of its environment that are known.
        target: The served model.
        draft: The head or draft model.
        room: What the GPUs have room for with this profile, or why nothing.
    """

    contract: EngineContract
    config: Mapping[str, object] | None
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    target: CheckedModel | None = None
    draft: CheckedModel | None = None
    room: Room | CannotSay | None = None

    @property
    def served(self) -> ServedModel:
        """What the command line tells of the model."""
        return served_model(self.words)

    @property
    def keys(self) -> Mapping[str, object]:
        """The config, as the release reads its keys; empty for none."""
        config = self.config or {}
        if not self.contract.dashed_keys:
            return config
        return {key.replace("-", "_"): value for key, value in config.items()}

    @property
    def method(self) -> str:
        """The method by vLLM's name, empty for none.

        The names of single families (`deepseek_mtp`) are `mtp` where a release has that. A config
        that names no method lets vLLM find it out from the model.
        """
        told = self.keys.get("method")
        name = told if isinstance(told, str) else ""
        is_alias = name.endswith("_mtp") and "mtp" in self.contract.method_names
        return "mtp" if is_alias else name

    @property
    def lookahead(self) -> int | None:
        """K, `None` when it is not told as a whole number."""
        value = self.keys.get(LOOKAHEAD)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def release(self) -> str:
        """The release as a message names it."""
        contract = self.contract
        if contract.known_as == contract.version:
            return f"vLLM {contract.version}"
        return f"vLLM {contract.version} (judged as {contract.known_as})"


_LORA: Final = ("--enable-lora", "--lora-modules")


def _has_row_of_zero(table: object) -> bool:
    """Tell whether a schedule, which may be of any shape, has a row with a K of 0."""
    rows = table if isinstance(table, list | tuple) else ()
    return any(isinstance(row, list | tuple) and len(row) == 3 and row[2] == 0 for row in rows)


def circumstances(subject: Subject) -> frozenset[Circumstance]:
    """Return what holds of a server beside its speculative config, as far as it is written."""
    words, served = subject.words, subject.served
    backend = " ".join(_values_of_backend(words))
    found = {
        Circumstance.LORA: any(is_on(words, name) for name in _LORA),
        Circumstance.PIPELINE_PARALLEL: served.pipeline_parallel > 1,
        Circumstance.DATA_PARALLEL: served.data_parallel > 1,
        Circumstance.EAGER: served.enforce_eager,
        Circumstance.ASYNC_SCHEDULING: is_on(words, "--async-scheduling"),
        Circumstance.NO_LOG_STATS: is_on(words, "--disable-log-stats"),
        Circumstance.API_SERVERS: whole_number(words, ("--api-server-count", "-asc")) > 1,
        Circumstance.LOGITS_PROCESSORS: is_on(words, "--logits-processors"),
        Circumstance.LM_FORMAT_ENFORCER: "lm-format-enforcer" in backend,
        Circumstance.SECOND_RUNNER: subject.environment.get("VLLM_USE_V2_MODEL_RUNNER") == "1",
        Circumstance.ROW_OF_ZERO: _has_row_of_zero(subject.keys.get(SCHEDULE)),
    }
    return frozenset(name for name, holds in found.items() if holds)


def _values_of_backend(words: Sequence[str]) -> tuple[str, ...]:
    names = (
        "--guided-decoding-backend",
        "--structured-outputs-config",
        "--structured-outputs-config.backend",
    )
    return tuple(flag_value(words, (name,)) for name in names)


def is_on(words: Sequence[str], name: str) -> bool:
    """Tell whether a flag is given; the last of `--x` and `--no-x` counts, `--x=false` is no."""
    on = False
    for word in flag_words(words):
        flag, equals, inline = word.partition("=")
        plain = flag.replace("_", "-")
        if plain == name:
            on = not equals or inline.casefold() not in ("false", "0", "no")
        elif plain == f"--no-{name.removeprefix('--')}":
            on = False
    return on


_PLAIN: Final = re.compile(r"[A-Za-z0-9_.-]{1,80}")


def key_finding(
    *, check: str, key: str, value: object, consequence: str, fix: str, severity: Severity
) -> Finding:
    """Return a finding about a key of the speculative config."""
    return Finding(
        check=check,
        flag=f"{CONFIG_FLAG} {key if _PLAIN.fullmatch(key) else shown(key)}",
        value=shown(value),
        consequence=consequence,
        fix=fix,
        severity=severity,
    )
