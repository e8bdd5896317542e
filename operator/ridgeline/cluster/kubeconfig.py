"""What is wrong with a kubeconfig, in one line that repeats nothing secret of it.

The client's own messages quote whole users with their tokens, and its loader takes a file for well
formed, so files are looked at before it reads them and its words are cut.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml
from kubernetes.aio.config import ConfigException

from ridgeline.cluster.errors import ClusterError

UNUSABLE: Final = (ConfigException, OSError, ValueError, TypeError, AttributeError, KeyError)
"""What the client raises for a kubeconfig whose fields hold something else than they should."""

_EXPECTED: Final = re.compile(r"Expected (?:key|object with name) [-\w.@:/]{1,100}")
_MISSING: Final = re.compile(r"File does not exists?: (\S{1,300})")
_WAY_OUT: Final = "name another with --kubeconfig or KUBECONFIG"


def check_kubeconfig(kubeconfig: str) -> None:
    """Refuse what is no kubeconfig. Of several files, those that are missing are passed over.

    Args:
        kubeconfig: A file, or several, as KUBECONFIG names them.

    Raises:
        ClusterError: A file cannot be read or is no kubeconfig, or none is there.
    """
    files = [Path(each).expanduser() for each in kubeconfig.split(os.pathsep) if each]
    there = [each for each in files if _exists(each)]
    if not there:
        raise _error(kubeconfig, "there is no such file")
    for file in there:
        _check_file(file)


def unusable(kubeconfig: str, error: Exception) -> ClusterError:
    """Return what to say when the client cannot use a kubeconfig.

    Args:
        kubeconfig: A file, or several, as KUBECONFIG names them.
        error: One of `UNUSABLE`.
    """
    if isinstance(error, OSError) and error.strerror:
        about = f": {error.filename}" if error.filename else ""
        return _error(kubeconfig, f"a file that it names cannot be read: {error.strerror}{about}")
    said = str(error) if isinstance(error, ConfigException) else ""
    missing = _MISSING.fullmatch(said)
    if missing is not None:
        return _error(kubeconfig, f"a file that it names, {missing[1]}, is not there")
    found = _EXPECTED.search(said)
    if found is not None:
        return _error(kubeconfig, f"its current context cannot be used: {found[0].lower()}")
    return _error(kubeconfig, "a field of its current context holds what it must not")


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError as error:
        raise _error(str(file), f"it cannot be read: {error.strerror}") from error


def _check_file(file: Path) -> None:
    if not file.is_file():
        raise _error(str(file), "it is no regular file")
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise _error(str(file), f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise _error(str(file), "it is no UTF-8 text") from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f", see line {mark.line + 1}"
        raise _error(str(file), f"it is not YAML{where}") from None
    if found is None:
        raise _error(str(file), "it is empty")
    if not isinstance(found, Mapping):
        raise _error(
            str(file),
            "it is no kubeconfig: a kubeconfig is a mapping with clusters, contexts and users",
        )
    for field in ("clusters", "contexts", "users"):
        items = found.get(field) or []
        if not (isinstance(items, list) and all(isinstance(each, Mapping) for each in items)):
            raise _error(str(file), f"its {field} are no list of objects")


def _error(kubeconfig: str, why: str) -> ClusterError:
    return ClusterError(f"cannot connect to Kubernetes: kubeconfig {kubeconfig}: {why}; {_WAY_OUT}")
