"""The ways in which a start ends, with the text and exit code that a person would see from vLLM."""

from typing import Any, NoReturn


class StartError(Exception):
    """A start that ends before the server is ready.

    Attributes:
        stderr: What is written to standard error before the exit.
        exit_code: 2 for a usage error, 1 for a refused configuration.
        after_load: Whether it shows only once the weights are loaded (the start-up time is spent).
        stdout: The engine core's own log line, where the cause is found there.
    """

    def __init__(
        self, stderr: str, *, exit_code: int = 1, after_load: bool = False, stdout: str = ""
    ) -> None:
        super().__init__(stderr)
        self.stderr = stderr
        self.exit_code = exit_code
        self.after_load = after_load
        self.stdout = stdout


def plain_error(kind: str, message: str) -> StartError:
    """An exception of the standard library that nobody caught."""
    return StartError(f"Traceback (most recent call last):\n{kind}: {message}")


def validation_error(
    *, location: str | None, message: str, kind: str, value: Any, model: str = "SpeculativeConfig"
) -> StartError:
    """A pydantic error with one finding, as its traceback prints it."""
    where = f"{location}\n  " if location else "  "
    shown = f"[type={kind}, input_value={value!r}, input_type={type(value).__name__}]"
    return StartError(
        "Traceback (most recent call last):\n"
        f"pydantic_core._pydantic_core.ValidationError: 1 validation error for {model}\n"
        f"{where}{message} {shown}\n"
        f"    For further information visit https://errors.pydantic.dev/2.14/v/{kind}"
    )


def engine_core_error(message: str, *, kind: str = "ValueError") -> StartError:
    """An error of the engine core: its cause on standard output, its death on standard error."""
    return StartError(
        "Traceback (most recent call last):\n"
        "RuntimeError: Engine core initialization failed. See root cause above. "
        "Failed core proc(s): {}",
        after_load=True,
        stdout=f"(EngineCore) ERROR [core.py] {kind}: {message}",
    )


def value_error(config: Any, message: str, *, by_pydantic: bool) -> NoReturn:
    """Raises what a check in the config's own code raises, wrapped by pydantic or not."""
    if not by_pydantic:
        raise plain_error("ValueError", message)
    raise validation_error(
        location=None, message=f"Value error, {message}", kind="value_error", value=config
    )


ENGINE_DIED = (
    "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. "
    "See stack trace (above) for the root cause."
)
"""What a server says last whose engine core died while it served (vllm/v1/engine/exceptions.py)."""
