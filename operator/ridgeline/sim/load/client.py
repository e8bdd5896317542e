"""One attempt at one request, over HTTP."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

PROMPT_TOKEN_ID = 100
"""Prompts are lists of one token id, so that their length is exact on every server."""

CHAT_BYTES_PER_TOKEN = 4
"""Chat prompts are text; about four bytes make a token in common vocabularies."""


class AttemptError(Exception):
    """An attempt that gave no full answer.

    Attributes:
        kind: "connect", "disconnect", "timeout", "truncated", "protocol" or "http_<status>".
        retryable: Whether nothing was answered, so that sending it again repeats no work.
    """

    def __init__(self, kind: str, *, retryable: bool) -> None:
        super().__init__(kind)
        self.kind = kind
        self.retryable = retryable


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Times of one answered attempt, in seconds on the caller's clock."""

    started_s: float
    first_token_s: float | None
    finished_s: float
    tokens: int


def request_body(
    *, prompt_tokens: int, max_tokens: int, chat: bool, stream: bool, model: str | None
) -> bytes:
    """The JSON of one request; answers never stop before ``max_tokens``."""
    body: dict[str, Any] = {
        "max_tokens": max_tokens,
        "ignore_eos": True,
        "temperature": 0,
        "stream": stream,
    }
    if stream:
        body["stream_options"] = {"include_usage": True}
    if model is not None:
        body["model"] = model
    if chat:
        text = "x" * (CHAT_BYTES_PER_TOKEN * prompt_tokens)
        body["messages"] = [{"role": "user", "content": text}]
    else:
        body["prompt"] = [PROMPT_TOKEN_ID] * prompt_tokens
    return json.dumps(body).encode()


async def send(
    session: aiohttp.ClientSession,
    url: str,
    body: bytes,
    *,
    stream: bool,
    clock: Callable[[], float],
) -> Attempt:
    """Sends one request and reads its answer to the end.

    Raises:
        AttemptError: There was no full answer.
    """
    started, answering = clock(), False
    try:
        async with session.post(
            url, data=body, headers={"Content-Type": "application/json"}
        ) as response:
            if response.status != 200:
                await response.read()
                raise AttemptError(
                    f"http_{response.status}", retryable=response.status in (429, 500, 502, 503)
                )
            answering = True
            if stream:
                return await _read_stream(response, started, clock)
            whole = await response.json()
            return Attempt(
                started_s=started,
                first_token_s=None,
                finished_s=clock(),
                tokens=_completion_tokens(whole),
            )
    except TimeoutError as error:
        raise AttemptError("timeout", retryable=False) from error
    except aiohttp.ClientConnectorError as error:
        raise AttemptError("connect", retryable=True) from error
    except (aiohttp.ClientError, ConnectionError) as error:
        raise AttemptError("disconnect", retryable=not answering) from error
    except ValueError as error:
        raise AttemptError("protocol", retryable=False) from error


async def _read_stream(
    response: aiohttp.ClientResponse, started: float, clock: Callable[[], float]
) -> Attempt:
    first = last = None
    usage_tokens = events = 0
    async for line in response.content:
        if not line.startswith(b"data: "):
            continue
        if line.startswith(b"data: [DONE]"):
            return Attempt(
                started_s=started,
                first_token_s=first,
                finished_s=last if last is not None else clock(),
                tokens=usage_tokens or events,
            )
        # Only the first tokens and the usage are decoded: the rest is counted, to stay cheap.
        if first is None or b'"usage"' in line or b'"error"' in line:
            event = json.loads(line[6:])
            if "error" in event:
                raise AttemptError("protocol", retryable=False)
            usage_tokens = _completion_tokens(event) if event.get("usage") else usage_tokens
            if not _has_text(event):
                continue
        events += 1
        last = clock()
        first = last if first is None else first
    raise AttemptError("truncated", retryable=False)


def _has_text(event: dict[str, Any]) -> bool:
    for choice in event.get("choices", ()):
        if choice.get("text") or (choice.get("delta") or {}).get("content"):
            return True
    return False


def _completion_tokens(body: dict[str, Any]) -> int:
    usage = body.get("usage")
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if type(tokens) is not int:
        raise ValueError("the answer tells no usage.completion_tokens")
    return tokens
