"""What a profile makes of a container's argument list. Calls nothing.

The list belongs to whoever made the Deployment, and a server-side apply replaces it as a whole. So
it is always derived from the list that is there: the maker's own list, with one flag of ours. While
ours is the last write to it, the maker's list is ours without our flag, and with the flags that
the annotation remembers.
"""

from dataclasses import dataclass

from ridgeline.cluster.marker import ArgsMark, marker_of
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.engine.args_given import given_flags, with_given
from ridgeline.engine.args_replace import replace_flag
from ridgeline.engine.container import Container, known_environment


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgsWrite:
    """An argument list that carries a profile.

    Attributes:
        words: The whole list.
        mark: What its maker's list had in the place of our flag.
    """

    words: tuple[str, ...]
    mark: ArgsMark


def args_write(live: DeploymentObject, container: Container, config: str) -> ArgsWrite:
    """Return the argument list with which a container's server runs a config.

    It depends on the maker's list and the config alone: the same config gives the same bytes,
    whatever was written in between.

    Args:
        live: The Deployment as it is.
        container: One of its containers.
        config: The speculative config; empty for none.

    Raises:
        ArgsError: The flag cannot be replaced safely.
        InvalidSpeculativeConfigError: `config` is no config.
    """
    environment = known_environment(container)
    made = makers_args(live, container)
    words = replace_flag(made, config, command=container.command, environment=environment)
    given = given_flags(made, environment)
    return ArgsWrite(words=words, mark=ArgsMark(container=container.name, given=given))


def makers_args(live: DeploymentObject, container: Container) -> tuple[str, ...]:
    """Return a container's argument list as its maker wrote it."""
    if container.name not in live.args_ours:
        return container.args
    found = marker_of(live.marker)
    mark = found.args if found is not None else None
    given = mark.given if mark is not None and mark.container == container.name else ()
    return with_given(container.args, given, known_environment(container))
