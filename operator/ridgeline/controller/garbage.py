"""Keeps Python's cycle collector away from what lives long.

What was listed, what Kopf keeps of each object and what passes keep of each serving stays for long,
and a full collection goes through all of it: at 1,000 servings of 20 replicas a seventh of a tick's
CPU time before anything was set aside, and a tenth where only the first listing was (py-spy).
"""

import asyncio
import gc
from typing import Final

FIRST_PAUSE_SECONDS: Final = 30.0

LONGEST_PAUSE_SECONDS: Final = 600.0
"""A collection stops the loop for about a second at 20,000 Pods: not often."""


def set_long_lived_aside() -> None:
    """Collect what is garbage, of what was set aside before too, and set all the rest aside.

    What becomes garbage later is found when this is called again.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


async def set_aside_for_ever() -> None:
    """Set aside what lives long, often while the fleet is new and ever more seldom then."""
    pause = FIRST_PAUSE_SECONDS
    while True:
        await asyncio.sleep(pause)
        set_long_lived_aside()
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
