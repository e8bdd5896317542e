"""A short name for a long text, to tell whether it is still the same."""

import hashlib
from typing import Final

_DIGITS: Final = 16


def fingerprint(text: str) -> str:
    """Return 16 hexadecimal digits that differ for different texts (SHA-256, cut)."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:_DIGITS]
