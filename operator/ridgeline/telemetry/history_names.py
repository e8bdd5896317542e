"""Pure: what a Pod's name tells of the Deployment that it belongs to.

A Deployment names its ReplicaSets `<deployment>-<hash>` and a ReplicaSet its Pods
`<replicaset>-<suffix>`. Hash and suffix are written in an alphabet without vowels and without
digits that look like letters (apimachinery, util/rand), the suffix has five characters, and the
part before the suffix is cut at 58 (apiserver, storage/names).
"""

import re
from typing import Final

_ALPHABET: Final = "[bcdfghjklmnpqrstvwxz2456789]"
_TAIL: Final = f"-{_ALPHABET}{{1,10}}-{_ALPHABET}{{5}}"
_LONGEST_BASE: Final = 58
_SUFFIX: Final = 5

_OF_DEPLOYMENT: Final = re.compile(f"(.+){_TAIL}")


def workload_pattern() -> str:
    """Return the regular expression (RE2 and Python) whose group is the Deployment's name."""
    return f"(.+){_TAIL}"


def workload_of(pod: str) -> str:
    """Return the Deployment that a Pod's name tells of, or the name itself if it tells of none."""
    found = _OF_DEPLOYMENT.fullmatch(pod)
    return found[1] if found else pod


def pods_pattern(deployment: str) -> str:
    """Return the regular expression (RE2 and Python) of the names of a Deployment's Pods."""
    escaped = deployment.replace(".", "[.]")
    if len(deployment) + 1 < _LONGEST_BASE - 10:
        return f"{escaped}{_TAIL}"
    # The hash, or a part of the name, may have been cut away.
    base = deployment[:_LONGEST_BASE].replace(".", "[.]")
    return f"{base}-?{_ALPHABET}{{0,10}}-?{_ALPHABET}{{{_SUFFIX}}}"


def owned_by(name: str, deployment: str) -> bool:
    """Whether a name is the Deployment itself or one of its Pods, as far as names tell."""
    return name == deployment or re.fullmatch(pods_pattern(deployment), name) is not None
