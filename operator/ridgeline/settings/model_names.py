"""Names of models as people write them: organisation, case, precision and path do not matter."""

import re
from functools import lru_cache
from typing import Final

_IN_CACHE: Final = re.compile(r"models--(?:[^/]+--)?(?P<name>[^/]+?)(?:/|$)")
"""A folder of the Hugging Face cache: `models--organisation--name/snapshots/…`."""

_NEUTRAL: Final = re.compile(
    r"""
    meta | hf | base | instruct | chat | it | pt
    | fp8 | fp16 | bf16 | float16 | bfloat16 | f16
    | nvfp4 | mxfp4 | fp4 | int4 | int8 | w4a16 | w8a8 | w8a16 | w4a4 | [48]-?bit
    | awq | gptq | bnb | autoround | autofp8 | compressed | quantized | quant | marlin
    | dynamic | static | block | kv | sym | asym | pertensor | perchannel | g(?:32|64|128)
    """,
    re.VERBOSE,
)
"""Words of a name that leave the shape as it is: what was trained on, and the precision."""


def last_part(name: str) -> str:
    """Return the model's own name: without organisation, address, or the folders of a path."""
    cached = _IN_CACHE.search(name)
    if cached:
        return cached["name"]
    return name.strip().rstrip("/").rpartition("/")[2]


@lru_cache(maxsize=4096)  # a fleet has few models, and each is asked for every tick
def plain_model(name: str) -> str:
    """Return a name without what publishers write differently; two of one shape become equal.

    Every word that is not known to leave the shape alone stays, so the name of a fine-tune stays
    apart from its base.
    """
    text = last_part(name).casefold().replace("_", "-").replace(" ", "-")
    words = [each for each in re.split(r"-+", re.sub(r"quantized\.", "", text)) if each]
    return "".join(each for each in words if not _NEUTRAL.fullmatch(each))
