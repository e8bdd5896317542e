"""How a container takes the profile's variable: reference, default, and whose item it is."""

from collections.abc import Iterator
from typing import Final

from ridgeline.cli.lint_containers import Server
from ridgeline.cli.lint_findings import of_message
from ridgeline.cli.lint_manifests import mapping, mappings, text
from ridgeline.cluster.managed_fields import env_item, ours, owns
from ridgeline.cluster.objects import DeploymentObject
from ridgeline.cluster.parents import PARENT_GROUPS
from ridgeline.engine.container import InjectionPointError, injection_point
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.speculative_config import InvalidSpeculativeConfigError
from ridgeline.engine.spelling_quotes import on_one_line
from ridgeline.terms.modes import InjectionMode
from ridgeline.terms.names import PROFILE_ENV, SERVING_ANNOTATION
from ridgeline.terms.reasons import Reason

_BY_KUBELET: Final = f"$({PROFILE_ENV})"
_FLAG: Final = f"env {PROFILE_ENV}"


def injection_findings(server: Server) -> Iterator[Finding]:
    """Yield what is wrong with how a container reads the variable; nothing when it does not."""
    reads = any(PROFILE_ENV in word for word in server.written.words)
    if not reads and not _has_item(server):
        return
    try:
        injection_point(server.written)
    except InjectionPointError as error:
        yield of_message(Reason.INJECTION_POINT_MISSING.value, _FLAG, str(error))
    except InvalidSpeculativeConfigError as error:
        yield of_message(Reason.SPECULATIVE_CONFIG_INVALID.value, _FLAG, str(error))
    yield from item_findings(server)


def item_findings(server: Server) -> Iterator[Finding]:
    """Yield what is wrong with the variable's item and its default."""
    if _has_item(server) and _of_parent(server):
        return
    if _has_item(server) and not _is_ours(server):
        yield Finding(
            check=Reason.FIELD_CONFLICT.value,
            flag=_FLAG,
            value="",
            consequence="the item stands in Git itself, which makes Git its owner, whatever its "
            "value: the operator holds and never writes a profile",
            fix="remove it, and give the default through envFrom: a ConfigMap that holds "
            f'{PROFILE_ENV}: ""',
            severity=Severity.ERROR,
        )
        return
    if server.default:
        yield Finding(
            check="DefaultNotEmpty",
            flag=f"envFrom {PROFILE_ENV}",
            value=on_one_line(server.default),
            consequence="the operator takes the default for no speculation, and does not read it",
            fix=f'write {PROFILE_ENV}: "" in the ConfigMap, and make the config a profile',
            severity=Severity.WARNING,
        )
    elif _lacks_default(server):
        yield Finding(
            check="DefaultMissing",
            flag=f"envFrom {PROFILE_ENV}",
            value="",
            consequence=f"no ConfigMap of envFrom holds {PROFILE_ENV}: vLLM gets {_BY_KUBELET} as "
            "it stands, and ends with a usage error until a profile is set",
            fix=f'add {PROFILE_ENV}: "" to the ConfigMap',
            severity=Severity.ERROR,
        )


def args_findings(deployment: DeploymentObject) -> Iterator[Finding]:
    """Yield what becomes of an argument list that the operator takes over."""
    if deployment.shape.owner:
        yield Finding(
            check="ArgsOfParent",
            flag=_MODE,
            value=InjectionMode.ARGS.value,
            consequence=f"{deployment.shape.owner} made the Deployment and would put its own "
            "arguments back: the operator writes nothing",
            fix="use mode Env",
            severity=Severity.ERROR,
        )
        return
    yield Finding(
        check="ArgsTakenOver",
        flag=_MODE,
        value=InjectionMode.ARGS.value,
        consequence="an argument list has one owner: from the first profile on, changes of args in "
        "Git conflict or take the profile out, and the operator needs guard.allowArgs",
        fix="use mode Env, where the Deployment can be changed once to read the variable",
        severity=Severity.WARNING,
    )


_MODE: Final = "spec.injection.mode"


def _of_parent(server: Server) -> bool:
    """Tell whether another controller makes a Deployment of the object.

    There a person follows recommendations in the item itself: it stands where it belongs.
    """
    version = text(server.pod.owner.body.get("apiVersion"))
    return version.partition("/")[0] in PARENT_GROUPS


def _has_item(server: Server) -> bool:
    return any(each.name == PROFILE_ENV for each in server.written.env)


def _lacks_default(server: Server) -> bool:
    """Tell whether everything that could give a default was given, and nothing does."""
    container = server.written
    return (
        server.default is None
        and server.defaults_known
        and container.has_env_from
        and not _has_item(server)
        and any(_BY_KUBELET in word for word in container.words)
    )


def _is_ours(server: Server) -> bool:
    """Tell whether the operator owns the item: in manifests that were taken from a cluster.

    kubectl leaves managed fields out; the operator's annotation stands on what it wrote to.
    """
    metadata = mapping(server.pod.owner.body.get("metadata"))
    if SERVING_ANNOTATION in mapping(metadata.get("annotations")):
        return True
    entries = [each for each in mappings(metadata.get("managedFields")) if _is_entry(each)]
    try:
        return owns(ours(entries), env_item(server.written.name))
    except TypeError:
        return False  # a field that should be an object is none


def _is_entry(entry: object) -> bool:
    return isinstance(mapping(entry).get("fieldsV1"), dict)
