"""Where things lie: the repository, the cache, the state folders."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.cluster.errors import ClusterError

REPO = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

# Unix socket paths end at 107 characters; the longest suffix below a state folder is
# "/node-NN/containerd/containerd.sock.ttrpc".
_LONGEST_STATE_PATH = 107 - 42


def cache_dir() -> Path:
    """The folder that survives clusters: binaries and image layers."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "ridgeline"


def registry_dir() -> Path:
    """Where `up` remembers its clusters for `down` and `status`."""
    return REPO / ".cache" / "cluster"


def new_state_dir() -> Path:
    """A fresh, empty state folder.

    Raises:
        ClusterError: its path is too long for the Unix sockets that live in it, or lies under a
            folder that the cluster hides from its own processes.
    """
    state = Path(tempfile.mkdtemp(prefix="ridgeline-")).resolve()
    hidden = next((top for top in HIDDEN_FOLDERS if state.is_relative_to(top)), None)
    if len(str(state)) > _LONGEST_STATE_PATH or hidden is not None:
        state.rmdir()
        reason = f"lies under {hidden}" if hidden else "is too long for Unix sockets"
        raise ClusterError(f"the state folder {state} {reason}; set TMPDIR=/tmp")
    return state


# A cluster's processes see empty folders here, so that nothing they write reaches the machine.
HIDDEN_FOLDERS = ("/run", "/var/lib", "/var/log")


def content_key(*parts: str | bytes) -> str:
    """A short key over the given contents, for folder names."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:16]


def read_all(files: Iterable[Path]) -> list[bytes]:
    """The contents of the files, in the order given."""
    return [file.read_bytes() for file in files]
