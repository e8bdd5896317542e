"""One lint run: everything that was given, object by object, into one report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ridgeline.api.accelerator import invalid_accelerator_fields, parse_accelerator
from ridgeline.api.errors import InvalidAccelerator, InvalidPolicy
from ridgeline.api.policy import invalid_policy_fields, parse_policy
from ridgeline.cli.lint_around import Said, around_of, release_of, unknown_release
from ridgeline.cli.lint_containers import Server, servers_of
from ridgeline.cli.lint_files import Document
from ridgeline.cli.lint_findings import of_invalid, remarks_about
from ridgeline.cli.lint_injection import injection_findings
from ridgeline.cli.lint_manifests import OWN_KINDS, Manifests, Named, PodOf, manifests_of
from ridgeline.cli.lint_own import about_release, own_findings, speaks_of_speculation
from ridgeline.cli.lint_servings import (
    Serving,
    refused_fields,
    schedule_finding,
    serving_of,
    serving_remarks,
)
from ridgeline.cli.lint_shapes import shape_findings
from ridgeline.engine.findings import Finding, Severity
from ridgeline.render.lint_report import LintReport, Remark, report_of
from ridgeline.settings.accelerators import Catalogue, load_catalogue, override_of
from ridgeline.settings.preflight_config import OWN
from ridgeline.settings.schedules import schedule_findings
from ridgeline.terms.reasons import Reason


class NothingToLintError(ValueError):
    """What was given holds nothing that a lint run looks at."""


def lint_report(documents: Sequence[Document], said: Said) -> LintReport:
    """Return what is wrong with everything that was given.

    Raises:
        NothingToLintError: It holds no container of vLLM and no object of ridgeline.
    """
    manifests = manifests_of(documents)
    servers = servers_of(manifests)
    servings = _servings(manifests, servers)
    looked_at = _looked_at(servers, servings)
    own = (*manifests.servings, *manifests.policies, *manifests.accelerators, *manifests.strange)
    pods = _judged_pods(manifests, looked_at)
    if not pods and not own:
        raise NothingToLintError(
            f"among {len(documents)} objects there is no container that runs vLLM, and no "
            f"{', '.join(OWN_KINDS)}: give the files that hold them"
        )
    shapes = (each for pod in pods for each in remarks_about(pod.owner, shape_findings(pod)))
    remarks = (*shapes, *_remarks(manifests, looked_at, servings, said))
    empty = sum(not pod.containers for pod in pods)
    return report_of(remarks, objects=len(looked_at) + empty + len(own))


def catalogue_of(documents: Sequence[Document]) -> Catalogue:
    """Return the catalogue of GPUs with the given AcceleratorProfiles laid over it."""
    overrides = []
    for each in manifests_of(documents).accelerators:
        try:
            overrides.append(override_of(parse_accelerator(each.body)))
        except InvalidAccelerator:
            continue  # its fields are told
    return load_catalogue().with_overrides(overrides)


def profile_names(documents: Sequence[Document]) -> tuple[str, ...]:
    """Return the names of the profiles of all servings that can be read."""
    manifests = manifests_of(documents)
    servings = _servings(manifests, ())
    return tuple(dict.fromkeys(each.name for one in servings for each in one.spec.profiles))


def vllm_servers(documents: Sequence[Document]) -> tuple[Server, ...]:
    """Return the containers that a lint run looks at."""
    manifests = manifests_of(documents)
    servers = servers_of(manifests)
    return _looked_at(servers, _servings(manifests, servers))


def _servings(manifests: Manifests, servers: Sequence[Server]) -> tuple[Serving, ...]:
    read = (serving_of(each, manifests, servers) for each in manifests.servings)
    return tuple(each for each in read if each is not None)


def _looked_at(servers: Sequence[Server], servings: Sequence[Serving]) -> tuple[Server, ...]:
    targets = _targets(servings)
    return tuple(each for each in servers if each.is_vllm or id(each) in targets)


def _judged_pods(manifests: Manifests, servers: Sequence[Server]) -> tuple[PodOf, ...]:
    """Return the Pods of containers that are looked at, and those without any that is one."""
    judged = {id(each.pod) for each in servers}
    return tuple(each for each in manifests.pods if id(each) in judged or not each.containers)


def _targets(servings: Sequence[Serving]) -> dict[int, Serving]:
    """Return the serving of each container that is a target, by the identity of its `Server`."""
    return {
        id(each.target.server): each
        for each in reversed(servings)
        if each.target is not None and each.target.server is not None
    }


def _remarks(
    manifests: Manifests, servers: Sequence[Server], servings: Sequence[Serving], said: Said
) -> Iterator[Remark]:
    targets = _targets(servings)
    found = {id(each): _of_server(each, targets, said) for each in servers}
    for server in servers:
        name = server.written.name
        yield from remarks_about(server.pod.owner, found[id(server)], container=name)
    for named in manifests.servings:
        yield from remarks_about(named, refused_fields(named))
    yield from _rivals(servings)
    of_policies = {id(each): tuple(_of_policy(each, said)) for each in manifests.policies}
    for policy in manifests.policies:
        yield from remarks_about(policy, of_policies[id(policy)])
    names = [policy.name for policy in manifests.policies]
    for serving in servings:
        yield from _not_again(serving_remarks(serving, said, found), of_policies, names)
    for accelerator in manifests.accelerators:
        refused = invalid_accelerator_fields(accelerator.body, strict=True)
        yield from remarks_about(accelerator, of_invalid(refused))
    for strange in manifests.strange:
        yield from remarks_about(strange, (_strange(strange),))


def _of_server(server: Server, targets: Mapping[int, Serving], said: Said) -> tuple[Finding, ...]:
    """Return what is wrong with a container by itself."""
    serving = targets.get(id(server))
    spec = serving.spec if serving is not None else None
    release = release_of(server.container.image, spec, said)
    concerned = serving is not None or speaks_of_speculation(server)
    around = around_of(server, spec, said)
    draft = said.draft("")
    around = replace(around, drafts={OWN: draft} if draft is not None else {})
    own = own_findings(server, release, around)
    injected = () if serving is not None else tuple(injection_findings(server))
    unknown = unknown_release(server.container.image, release) if concerned else None
    if not concerned or not release.told:
        own = tuple(each for each in own if not about_release(each))
    told = (unknown,) if unknown is not None else ()
    return (*server.findings, *told, *injected, *own)


def _of_policy(policy: Named, said: Said) -> Iterator[Finding]:
    yield from of_invalid(invalid_policy_fields(policy.body, strict=True))
    try:
        spec = parse_policy(policy.body).spec
    except InvalidPolicy:
        return
    for each in schedule_findings(spec.schedules or (), None, said.now):
        yield schedule_finding(each)


_OF_SCHEDULES: Final = frozenset({Reason.SCHEDULE_INVALID.value, Reason.SCHEDULES_OVERLAP.value})


def _not_again(
    remarks: Iterator[Remark], of_policies: Mapping[int, tuple[Finding, ...]], names: Sequence[str]
) -> Iterator[Remark]:
    """Leave out what a serving takes from a policy, and what was told of that already."""

    def plain(consequence: str) -> str:
        for name in names:
            consequence = consequence.replace(f" of policy {name}", "")
        return consequence

    known = {(each.check, each.consequence) for found in of_policies.values() for each in found}
    for remark in remarks:
        found = remark.finding
        again = (found.check, plain(found.consequence)) in known
        if not (again and found.check in _OF_SCHEDULES):
            yield remark


def _rivals(servings: Sequence[Serving]) -> Iterator[Remark]:
    """Yield that two servings have one target."""
    first: dict[tuple[str, str], Serving] = {}
    for each in servings:
        target = each.spec.target_ref.name
        before = first.setdefault((each.named.namespace, target), each)
        if before is each:
            continue
        finding = Finding(
            check=Reason.TARGET_CONFLICT.value,
            flag="spec.targetRef.name",
            value=target,
            consequence=f"{before.named.title} has the same target, and only the older one acts",
            fix="delete one of the two",
            severity=Severity.ERROR,
        )
        yield from remarks_about(each.named, (finding,))


def _strange(named: Named) -> Finding:
    return Finding(
        check="KindUnknown",
        flag="kind",
        value=named.kind,
        consequence="the group ridgeline.dev has no such kind: the API server refuses the object",
        fix=f"write one of {', '.join(OWN_KINDS)}",
        severity=Severity.ERROR,
    )
