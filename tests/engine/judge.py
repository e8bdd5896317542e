"""Asks the real engine, in one process, which command lines it would start with.

Run by the Python of the engine's environment. Reads lines of JSON, `{"case": …, "words": […]}`, and
writes one line for each: whether the arguments of `vllm serve` are accepted, and what they mean. A
case goes through vLLM's own parser and its own configuration, as `vllm serve` goes through them
before it loads anything, and then through what the scheduler makes of a table of lookaheads.
"""

import contextlib
import importlib
import io
import json
import logging
import sys
from typing import Any

import vllm
from vllm.config import VllmConfig
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.utils.argparse_utils import FlexibleArgumentParser

_PLACES = ("common", "launchers", "openai")
"""Where releases have had the parser of `vllm serve`, the newest first."""


def _parser_of_serve() -> Any:
    """Return the module that makes the parser of `vllm serve`."""
    for place in _PLACES:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(f"vllm.entrypoints.{place}.cli_args")
    raise SystemExit("the parser of `vllm serve` is in none of the places where it has been")


def main() -> None:
    """Answer every case of standard input."""
    logging.disable(logging.CRITICAL)
    serve = _parser_of_serve()
    parser = serve.make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
    print(json.dumps({"version": vllm.__version__}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(
            json.dumps({"case": asked["case"]} | judge(serve, parser, asked["words"])), flush=True
        )


def judge(serve: Any, parser: FlexibleArgumentParser, words: list[str]) -> dict[str, Any]:
    """Return what becomes of one command line."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            given = parser.parse_args(["serve", *words][1:])
            given.model = given.model_tag or given.model
            serve.validate_parsed_serve_args(given)
    except SystemExit as ended:
        return refused("usage", _last(said.getvalue()), exit_code=int(str(ended.code)))
    except Exception as error:  # noqa: BLE001 (whatever it is: it ends the start)
        return refused(type(error).__name__, str(error))
    try:
        with contextlib.redirect_stdout(said):
            config = AsyncEngineArgs.from_cli_args(given).create_engine_config()
            return {"accepted": True, "speculation": speculation(config)}
    except Exception as error:  # noqa: BLE001
        return refused(type(error).__name__, str(error))


def refused(kind: str, message: str, *, exit_code: int = 1) -> dict[str, Any]:
    """Return a refusal, its message cut to a size for people."""
    text = " ".join(message.split())
    return {"accepted": False, "kind": kind, "message": text[:400], "exitCode": exit_code}


def speculation(config: VllmConfig) -> dict[str, Any] | None:
    """Return what the engine would do, as far as a profile says it.

    Raises:
        ValueError: The scheduler would not be built with the table of lookaheads.
    """
    told = config.speculative_config
    if told is None:
        return None
    table = getattr(told, "num_speculative_tokens_per_batch_size", None)
    rows: list[int] | None = None
    if table is not None:
        from vllm.v1.spec_decode.dynamic.utils import build_dynamic_sd_schedule_lookup

        most = config.scheduler_config.max_num_seqs
        rows = build_dynamic_sd_schedule_lookup(table, most, told.num_speculative_tokens)
    return {
        "method": told.method,
        "lookahead": told.num_speculative_tokens,
        "lookahead_by_batch": rows[1:] if rows else None,
    }


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


if __name__ == "__main__":
    main()
