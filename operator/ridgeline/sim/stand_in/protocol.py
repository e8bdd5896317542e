"""The OpenAI-style requests and answers, as far as a load generator or a probe uses them."""

import json
from dataclasses import dataclass
from typing import Any

WORD = " token"
"""What every generated token reads."""

BYTES_PER_TOKEN = 4
"""Tokens of a text prompt are counted as one per four bytes; no tokenizer is loaded."""

CHAT_OVERHEAD_TOKENS = 4
"""What a chat template adds per message."""


class BadRequestError(Exception):
    """A request that the server refuses, with the status of the answer."""

    def __init__(self, message: str, *, status: int = 400, kind: str = "BadRequestError") -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind

    def body(self) -> dict[str, Any]:
        """The JSON body of the answer."""
        error = {"message": str(self), "type": self.kind, "param": None, "code": self.status}
        return {"error": error}


@dataclass(frozen=True, kw_only=True)
class CompletionRequest:
    """One accepted request."""

    model: str
    prompt_tokens: int
    max_tokens: int
    min_tokens: int
    stream: bool
    include_usage: bool
    ignore_eos: bool
    chat: bool


def parse_request(
    body: bytes, *, chat: bool, served_names: tuple[str, ...], max_model_len: int
) -> CompletionRequest:
    """Reads the body of a completion request.

    Raises:
        BadRequestError: The body is not one that this server answers.
    """
    given = _object(body)
    model = given.get("model", served_names[0])
    if model not in served_names:
        raise BadRequestError(
            f"The model `{model}` does not exist.", status=404, kind="NotFoundError"
        )
    prompt_tokens = _chat_tokens(given) if chat else _prompt_tokens(given.get("prompt"))
    if given.get("n", 1) != 1:
        raise BadRequestError(f"n={given['n']!r} is not supported here; send one request each.")
    temperature = given.get("temperature")
    if temperature is not None and not (_is_number(temperature) and temperature >= 0):
        raise BadRequestError(f"temperature must be non-negative, got {temperature!r}.")
    room = max_model_len - prompt_tokens
    default = room if chat else 16
    limit = given.get("max_completion_tokens") if chat else None
    limit = limit if limit is not None else given.get("max_tokens")
    max_tokens = _whole(limit if limit is not None else default, "max_tokens", low=1)
    if max_tokens > room:
        raise BadRequestError(
            f"This model's maximum context length is {max_model_len} tokens. However, you "
            f"requested {max_tokens} output tokens and your prompt contains {prompt_tokens} input "
            f"tokens, for a total of {max_tokens + prompt_tokens} tokens. Please reduce the "
            "length of the input prompt or the number of requested output tokens."
        )
    options = given.get("stream_options") or {}
    return CompletionRequest(
        model=model,
        prompt_tokens=prompt_tokens,
        max_tokens=max_tokens,
        min_tokens=_whole(given.get("min_tokens", 0), "min_tokens", low=0),
        stream=_flag(given, "stream"),
        include_usage=isinstance(options, dict) and bool(options.get("include_usage")),
        ignore_eos=_flag(given, "ignore_eos"),
        chat=chat,
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body)
    except ValueError as error:
        raise BadRequestError(f"The body is not JSON: {error}.") from error
    if not isinstance(given, dict):
        raise BadRequestError(f"The body must be a JSON object, not {type(given).__name__}.")
    return given


def _text_tokens(text: str) -> int:
    return max(1, -(-len(text.encode()) // BYTES_PER_TOKEN))


def _prompt_tokens(prompt: Any) -> int:
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt:
        return _text_tokens(prompt)
    if isinstance(prompt, list) and prompt and all(type(token) is int for token in prompt):
        return len(prompt)
    raise BadRequestError("prompt must be one non-empty string or one list of token ids.")


def _chat_tokens(given: dict[str, Any]) -> int:
    messages = given.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequestError("messages must be a non-empty list.")
    total = 0
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            content = "".join(p.get("text", "") for p in content if isinstance(p, dict))
        if not isinstance(content, str) or "role" not in message:
            raise BadRequestError("every message needs a role and a text as content.")
        total += _text_tokens(content) + CHAT_OVERHEAD_TOKENS
    return total


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: Any, name: str, *, low: int) -> int:
    if type(value) is not int or value < low:
        raise BadRequestError(f"{name} must be at least {low}, got {value!r}.")
    return value


def _flag(given: dict[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise BadRequestError(f"{name} must be true or false, got {value!r}.")
    return value


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Writes the answer to one request, whole or as events."""

    request: CompletionRequest
    identifier: str
    created: int

    def whole(self, tokens: int, reason: str) -> dict[str, Any]:
        """The body of an answer in one piece."""
        text = WORD * tokens
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": reason}
        if self.request.chat:
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        choice["stop_reason"] = None
        return self._frame(streamed=False) | {"choices": [choice], "usage": self._usage(tokens)}

    def opening(self) -> bytes:
        """The event before the first token: the role in a chat, else nothing."""
        if not self.request.chat:
            return b""
        return self._event({"index": 0, "delta": {"role": "assistant", "content": ""}}, None)

    def piece(self, tokens: int, reason: str | None) -> bytes:
        """The event of one engine step."""
        text = WORD * tokens
        if self.request.chat:
            return self._event({"index": 0, "delta": {"content": text}}, reason)
        return self._event({"index": 0, "text": text}, reason)

    def closing(self, tokens: int) -> bytes:
        """The events after the last token: the usage where it was asked for, and the end."""
        usage = b""
        if self.request.include_usage:
            frame = self._frame(streamed=True) | {"choices": [], "usage": self._usage(tokens)}
            usage = _server_sent(frame)
        return usage + b"data: [DONE]\n\n"

    def _event(self, choice: dict[str, Any], reason: str | None) -> bytes:
        choice |= {"logprobs": None, "finish_reason": reason}
        return _server_sent(self._frame(streamed=True) | {"choices": [choice]})

    def _frame(self, *, streamed: bool) -> dict[str, Any]:
        kind = "text_completion"
        if self.request.chat:
            kind = "chat.completion.chunk" if streamed else "chat.completion"
        return {
            "id": self.identifier,
            "object": kind,
            "created": self.created,
            "model": self.request.model,
        }

    def _usage(self, tokens: int) -> dict[str, Any]:
        prompt = self.request.prompt_tokens
        return {
            "prompt_tokens": prompt,
            "total_tokens": prompt + tokens,
            "completion_tokens": tokens,
            "prompt_tokens_details": None,
        }


def _server_sent(body: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"
