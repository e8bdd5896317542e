"""The end of an event loop that a thread of a test runs."""

from __future__ import annotations

import asyncio
from typing import Final

_CLOSING_S: Final = 0.25
"""TLS connections end a moment after who closed them."""


async def drained() -> None:
    """End every other task of the loop, and let its connections end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(_CLOSING_S)
