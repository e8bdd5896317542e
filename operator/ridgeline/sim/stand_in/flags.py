"""The command line of ``vllm serve``, as the chosen release reads it."""

import argparse
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NoReturn

from ridgeline.sim.stand_in.contract import EngineContract
from ridgeline.sim.stand_in.failures import StartError, plain_error

DEFAULT_MODEL = "Qwen/Qwen3-0.6B"
"""What vLLM serves when no model is named."""

DEFAULT_MAX_MODEL_LEN = 8192
"""Stands for the limit in the model's own config, which is not read here."""


@dataclass(frozen=True, kw_only=True)
class ServeArguments:
    """What the server needs of the command line.

    Attributes:
        model: Path or name of the target.
        served_names: Names under which it answers; the first is the label of the metrics.
        speculative_config: The parsed JSON, or None.
        max_num_seqs: Most requests in one engine step.
        max_model_len: Most tokens of prompt and answer together.
        max_num_batched_tokens: Most tokens of one engine step.
        shutdown_timeout_s: How long running requests may go on after SIGTERM.
        shown_for_version: Value of ``--show-hidden-metrics-for-version``.
    """

    model: str
    served_names: tuple[str, ...]
    host: str | None
    port: int
    speculative_config: Any
    max_num_seqs: int
    max_model_len: int
    max_num_batched_tokens: int
    tensor_parallel: int
    data_parallel: int
    gpu_memory_utilization: float
    log_stats: bool
    shutdown_timeout_s: float
    shown_for_version: str | None


def parse_serve_arguments(argv: Sequence[str], contract: EngineContract) -> ServeArguments:
    """Reads ``serve MODEL [flags]``; the word ``serve`` may be left out before a flag.

    Raises:
        StartError: The release would refuse the command line (exit code 2), or two spellings of
            the speculative config contradict each other (exit code 1).
    """
    rest = list(argv)
    if rest and rest[0] == "serve":
        rest = rest[1:]
    elif not rest or not rest[0].startswith("-"):
        raise StartError("usage: vllm serve [model_tag] [options]", exit_code=2)
    given = _parser(contract).parse_args(_joined_dotted(_dashed(rest)))
    model = given.model_tag or given.model or DEFAULT_MODEL
    return ServeArguments(
        model=model,
        served_names=tuple(given.served_model_name or [model]),
        host=given.host,
        port=given.port,
        speculative_config=_with_sugar(given),
        max_num_seqs=given.max_num_seqs or (1024 if contract.at_least("0.9.2") else 256),
        max_model_len=given.max_model_len or DEFAULT_MAX_MODEL_LEN,
        max_num_batched_tokens=given.max_num_batched_tokens or 8192,
        tensor_parallel=given.tensor_parallel_size,
        data_parallel=given.data_parallel_size,
        gpu_memory_utilization=given.gpu_memory_utilization,
        log_stats=not given.disable_log_stats,
        shutdown_timeout_s=float(getattr(given, "shutdown_timeout", 0)),
        shown_for_version=given.show_hidden_metrics_for_version,
    )


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting."""

    def error(self, message: str) -> NoReturn:
        raise StartError(f"{self.format_usage()}{self.prog}: error: {message}", exit_code=2)


def _dashed(arguments: Sequence[str]) -> list[str]:
    """Underscores in the names of long flags mean dashes; dotted keys keep theirs."""
    out = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name.startswith("--"):
            head, dot, keys = name.partition(".")
            name = head.replace("_", "-") + dot + keys
        out.append(name + equals + value)
    return out


def _joined_dotted(arguments: Sequence[str]) -> list[str]:
    """Gathers ``--flag.key value`` into one JSON value per flag, put behind everything else."""
    plain: list[str] = []
    gathered: dict[str, dict[str, Any]] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, text = argument.partition("=")
        if not argument.startswith("-") or "." not in name:
            plain.append(argument)
            continue
        if not equals:
            text = next(rest, "")
        flag, *keys = name.split(".")
        target = gathered.setdefault(flag, {})
        for key in keys[:-1]:
            target = target.setdefault(key, {})
        try:
            target[keys[-1]] = json.loads(text)
        except ValueError:
            target[keys[-1]] = text
    for flag, value in gathered.items():
        plain += [flag, json.dumps(value)]
    return plain


def _json_config(contract: EngineContract) -> Callable[[str], Any]:
    """The type of ``--speculative-config``; what it raises decides the wording of the error."""

    def loads(text: str) -> Any:
        return json.loads(text)

    def optional(text: str) -> Any:
        if text in ("", "None"):
            return None
        try:
            return json.loads(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(
                f"Value {text} cannot be converted to {json.loads}."
            ) from error

    return optional if contract.empty_value_means_none else loads


_SUFFIXES = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


def _tokens(text: str) -> int:
    """A number of tokens: plain, or as 32k (thousands) or 32K (times 1024)."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgKMG]?)", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"invalid value: {text!r}")
    value = int(float(match[1]) * _SUFFIXES.get(match[2], 1))
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text!r}")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError(f"must be above 0 and at most 1, got {text}")
    return value


def _parser(contract: EngineContract) -> _Parser:
    parser = _Parser(prog="vllm serve", usage="vllm serve [model_tag] [options]", add_help=False)
    add = parser.add_argument
    add("model_tag", nargs="?")
    add("--model")
    add("--served-model-name", nargs="+")
    add("--host")
    add("--port", type=int, default=8000)
    add("--max-num-seqs", type=_positive)
    add("--max-model-len", type=_tokens)
    add("--max-num-batched-tokens", type=_tokens)
    add("--tensor-parallel-size", "-tp", type=_positive, default=1)
    add("--data-parallel-size", "-dp", type=_positive, default=1)
    memory = ["--gpu-memory-utilization"]
    if "--device-memory-utilization" in contract.flags:
        memory.append("--device-memory-utilization")
    default = 0.92 if contract.at_least("0.20.2") else 0.9
    add(*memory, type=_share, default=default)
    add("--disable-log-stats", action="store_true")
    add("--show-hidden-metrics-for-version")
    names = ["--speculative-config"] + (["-sc"] if "-sc" in contract.flags else [])
    add(*names, type=_json_config(contract))
    if "--spec-method" in contract.flags:
        add("--spec-method")
        add("--spec-model")
        add("--spec-tokens", type=int)
    if "--shutdown-timeout" in contract.flags:
        add("--shutdown-timeout", type=_seconds, default=0)
    _add_passive(parser, contract)
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be at least 0, got {text}")
    return value


_READ_HERE = frozenset(
    {
        "--speculative-config",
        "-sc",
        "--spec-method",
        "--spec-model",
        "--spec-tokens",
        "--shutdown-timeout",
        "--gpu-memory-utilization",
        "--device-memory-utilization",
        "--max-num-seqs",
        "--max-num-batched-tokens",
        "--tensor-parallel-size",
        "--data-parallel-size",
        "--disable-log-stats",
        "--show-hidden-metrics-for-version",
    }
)
_VERSIONED_SWITCHES = frozenset({"--use-v2-block-manager", "--specialize-active-lora"})


@cache
def _passive_flags() -> dict[str, Any]:
    """Flags that change nothing here, so that a real argument list is accepted whole.

    The union over releases: which release has which of these was not read.
    """
    text = files("ridgeline.sim.stand_in").joinpath("data/passive_flags.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _add_passive(parser: _Parser, contract: EngineContract) -> None:
    passive = _passive_flags()
    shapes: dict[str, dict[str, Any]] = {
        "valued": {"action": "append"},
        "listed": {"nargs": "+"},
        "switches": {"action": argparse.BooleanOptionalAction, "default": None},
    }
    added = set(_READ_HERE)
    for shape, options in shapes.items():
        for name in passive[shape]:
            flag, short = f"--{name}", passive["short"].get(name)
            if flag not in contract.flags_of_others:
                parser.add_argument(flag, *([short] if short else []), **options)
            added.add(flag)
    for flag in sorted(_VERSIONED_SWITCHES & contract.flags):
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=None)
    for flag in sorted(contract.flags - added - _VERSIONED_SWITCHES):
        parser.add_argument(flag)


def _with_sugar(given: argparse.Namespace) -> Any:
    """Folds ``--spec-method``, ``--spec-model`` and ``--spec-tokens`` into the JSON config."""
    sugar = {
        "method": getattr(given, "spec_method", None),
        "model": getattr(given, "spec_model", None),
        "num_speculative_tokens": getattr(given, "spec_tokens", None),
    }
    named = {key: value for key, value in sugar.items() if value is not None}
    config = given.speculative_config
    if not named:
        return config
    if isinstance(config, dict):
        twice = sorted(named.keys() & config.keys())
        if twice:
            raise plain_error(
                "ValueError",
                f"{twice[0]} is given both in --speculative-config and by its own flag",
            )
        return config | named
    return named
