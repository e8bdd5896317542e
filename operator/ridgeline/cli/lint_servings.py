"""A serving with its policy, its target and its profiles: what the API server cannot know of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ridgeline.api.errors import InvalidServing
from ridgeline.api.policy import SpeculationPolicySpec
from ridgeline.api.serving import invalid_fields, parse_serving
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.cli.lint_around import (
    Release,
    Said,
    around_of,
    not_judged,
    release_of,
    unknown_release,
)
from ridgeline.cli.lint_containers import Server
from ridgeline.cli.lint_findings import of_invalid, of_message, remarks_about
from ridgeline.cli.lint_manifests import Manifests, Named, mapping
from ridgeline.cli.lint_roll import roll_findings
from ridgeline.cli.lint_targets import DEPLOYMENT, Target, target_of
from ridgeline.engine.check_subject import CheckedModel
from ridgeline.engine.container import Container
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.latency_buckets import bucket_finding, present_bounds
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.render.lint_report import Remark
from ridgeline.settings.inherit import ResolvedSpec, resolve_spec
from ridgeline.settings.policies import named_policy
from ridgeline.settings.preflight import findings_by_profile
from ridgeline.settings.resolve import profiles_of
from ridgeline.settings.schedules import findings_of as schedule_findings_of
from ridgeline.terms.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A serving that can be read.

    Attributes:
        named: The object.
        resolved: Its spec with every tuning field resolved.
        target: Its target; `None` when that was not given.
    """

    named: Named
    resolved: ResolvedSpec
    target: Target | None

    @property
    def spec(self) -> SpeculativeServingSpec:
        """Its spec as a person wrote it."""
        return self.resolved.own


def refused_fields(named: Named) -> tuple[Finding, ...]:
    """Return the fields of a serving that the API server would refuse."""
    return tuple(of_invalid(invalid_fields(named.body, strict=True)))


def serving_of(named: Named, manifests: Manifests, servers: Sequence[Server]) -> Serving | None:
    """Return a serving joined to its policy and target; `None` when it cannot be read."""
    try:
        spec = parse_serving(named.body).spec
    except InvalidServing:
        return None
    policy = _policy(named, spec, manifests)
    return Serving(
        named=named,
        resolved=resolve_spec(spec, policy),
        target=target_of(named, spec, manifests, servers),
    )


def _policy(
    named: Named, spec: SpeculativeServingSpec, manifests: Manifests
) -> tuple[str, SpeculationPolicySpec | Problem] | None:
    if spec.policy_ref is None:
        return None
    for each in manifests.policies:
        if each.name == spec.policy_ref.name and each.beside(named.namespace):
            return named_policy(each.name, mapping(each.body.get("spec")))
    return None


def serving_remarks(
    serving: Serving, said: Said, container_findings: Mapping[int, tuple[Finding, ...]]
) -> Iterator[Remark]:
    """Yield what is wrong with a serving, its target and its profiles.

    Args:
        serving: The serving.
        said: A person's word.
        container_findings: What was said of containers already, by the identity of their `Server`.
    """
    yield from remarks_about(serving.named, _about_itself(serving, said))
    target = serving.target
    server = target.server if target is not None else None
    image = server.container.image if server is not None else ""
    release = release_of(image, serving.spec, said)
    if target is not None:
        name = server.written.name if server is not None else ""
        yield from remarks_about(target.named, target.findings, container=name)
        if target.deployment is not None and server is not None:
            rolls = roll_findings(target.deployment, server, release)
            yield from remarks_about(target.named, rolls, container=name)
    known = container_findings.get(id(server), ()) if server is not None else ()
    yield from _of_profiles(serving, server, release, said, known)


def _about_itself(serving: Serving, said: Said) -> Iterator[Finding]:
    resolved, spec = serving.resolved, serving.spec
    problem = resolved.problem
    if problem is not None and problem.reason is Reason.POLICY_NOT_FOUND:
        named = spec.policy_ref.name if spec.policy_ref is not None else ""
        yield _not_given("PolicyNotSeen", "spec.policyRef.name", named, "SpeculationPolicy")
    elif problem is not None:
        yield of_message(problem.reason.value, "spec.policyRef", problem.message)
    for each in schedule_findings_of(resolved, said.now):
        yield schedule_finding(each)
    if serving.target is None:
        yield _not_given("TargetNotSeen", "spec.targetRef.name", spec.target_ref.name, DEPLOYMENT)


def schedule_finding(problem: Problem) -> Finding:
    """Return what is wrong with a schedule."""
    overlap = problem.reason is Reason.SCHEDULES_OVERLAP
    severity = Severity.WARNING if overlap else Severity.ERROR
    return of_message(problem.reason.value, "spec.schedules", problem.message, severity)


def _not_given(check: str, flag: str, value: str, kind: str) -> Finding:
    return Finding(
        check=check,
        flag=flag,
        value=value,
        consequence=f"no {kind} of that name was given: what depends on it is not judged",
        fix="give its file as well, where it has one",
        severity=Severity.INFO,
    )


def _of_profiles(
    serving: Serving,
    server: Server | None,
    release: Release,
    said: Said,
    known: tuple[Finding, ...],
) -> Iterator[Remark]:
    profiles = profiles_of(serving.spec)
    container = server.container if server is not None else Container(name="")
    around = around_of(server, serving.spec, said)
    around = replace(around, drafts=_drafts(profiles, said))
    unknown = unknown_release("", release) if server is None else None
    if unknown is not None:
        yield from remarks_about(serving.named, (unknown,))
    for profile in profiles:
        unknowns = not_judged(profile, around)
        yield from remarks_about(serving.named, unknowns, profiles=(profile.name,))
    found = findings_by_profile(container, profiles, release.contract, around)
    for name, findings in found:
        # What holds of the container whatever the profile was said about the container.
        own = [each for each in findings if each not in known and _counts(each, release)]
        yield from remarks_about(serving.named, own, profiles=(name,))
    limit = serving.resolved.p99_tpot_milliseconds.value
    if limit is not None and server is not None:
        yield from remarks_about(serving.named, _buckets(server, limit, release))


def _counts(finding: Finding, release: Release) -> bool:
    """Tell whether a finding says more than that nothing told the release."""
    return release.told or finding.check not in ("ReleaseNotRead", "ReleaseTooOld")


def _drafts(profiles: Sequence[Profile], said: Said) -> dict[str, CheckedModel]:
    told = {each.name: said.draft(each.name) for each in profiles if each.model is not None}
    return {name: draft for name, draft in told.items() if draft is not None}


def _buckets(server: Server, limit: int, release: Release) -> Iterator[Finding]:
    bounds = present_bounds(server.container.words)
    found = bucket_finding(bounds, limit / 1000, engine_version=release.version)
    if found is not None:
        yield replace(
            of_message("LatencyBuckets", "spec.objective", found.message, Severity.WARNING),
            fix=f"add the argument {found.argument} to the server"
            if found.argument is not None
            else "use a newer release, or an objective that lies at a bound",
        )
