"""The version of the engine, as an image's tag tells it."""

import re
from typing import Final

from ridgeline.engine.contract import NoContractError, parts_of

_TAG: Final = re.compile(r":v?(\d+)\.(\d+)(?:\.(\d+))?(?:[.+_-]|$)")
_NAMES_VLLM: Final = re.compile(r"vllm", re.IGNORECASE)


def version_of_image(image: str) -> str | None:
    """Return the vLLM version that an image's tag names, such as `0.24.0`; else `None`.

    A tag is a version only of an image that is named after vLLM: other images count their own.
    """
    path, _, tagged = image.partition("@")[0].rpartition("/")
    found = _TAG.search(tagged)
    if found is None or not _NAMES_VLLM.search(f"{path}/{tagged}"):
        return None
    major, minor, patch = found.groups(default="0")
    return f"{int(major)}.{int(minor)}.{int(patch)}"


def released(version: str) -> str | None:
    """Return a version as `major.minor.patch`, such as `0.24.0` of `v0.24`; `None` of no version.

    What follows the numbers (`0.24.0rc1`, `0.24.0+cu128`) is not looked at.
    """
    try:
        return ".".join(map(str, parts_of(version)[:3]))
    except NoContractError:
        return None


def is_legacy(version: str | None) -> bool:
    """Tell whether a version is 0.9 or older, whose overheads are others; unknown is not."""
    if version is None:
        return False
    major, minor = (int(part) for part in version.split(".")[:2])
    return (major, minor) < (0, 10)
