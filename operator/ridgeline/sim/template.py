"""The Pod template of a simulated Deployment."""

import hashlib
from dataclasses import dataclass

from ridgeline.engine.container import Container, own_flag_value
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError, parse
from ridgeline.terms.names import PROFILE_ENV


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A Pod template; two equal ones share their Pods, as equal hashes do.

    Attributes:
        containers: Its containers.
        profile: Value of the label that names the profile, `None` without it.
        restarted_at: Value of the annotation that `kubectl rollout restart` sets.
    """

    containers: tuple[Container, ...]
    profile: str | None = None
    restarted_at: str = ""

    @property
    def digest(self) -> str:
        """Short name of the template, as in the names of ReplicaSets."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]

    @property
    def speculative_config(self) -> str:
        """Text of the env item that carries the profile, else of a flag; empty without one."""
        items = [item for each in self.containers for item in each.env if item.name == PROFILE_ENV]
        flags = (own_flag_value(each) for each in self.containers)
        texts = (*(item.value for item in items), *flags)
        return next((text for text in texts if text), "")


def can_start(template: Template) -> bool:
    """Tell whether a server starts: not with a speculative config that is no JSON object."""
    try:
        parse(template.speculative_config)
    except InvalidSpeculativeConfigError:
        return False
    return True
