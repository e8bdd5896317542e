"""What is known around a container before it starts: its release, its model, its GPU.

A person's word comes first, then the serving's, then what the manifest itself tells. The release
alone is another matter: an image's tag knows it better than a serving, which may be older than it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.cli.lint_containers import Server
from ridgeline.cli.lint_manifests import mapping, mappings, text
from ridgeline.engine.check_subject import CheckedModel
from ridgeline.engine.contract import EngineContract, contract_of
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.served_model import served_model
from ridgeline.engine.speculative_config import Profile
from ridgeline.engine.spelling_quotes import on_one_line
from ridgeline.engine.version import released, version_of_image
from ridgeline.policy.facts import Problem
from ridgeline.settings.accelerators import (
    Catalogue,
    ResolvedAccelerator,
    load_catalogue,
    resolve_accelerator,
)
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.settings.preflight import Around, words_without_profile
from ridgeline.settings.preflight_models import catalogued_draft
from ridgeline.settings.preflight_room import Hardware
from ridgeline.settings.preflight_weights import Reach
from ridgeline.settings.target_model import TargetModel, target_model
from ridgeline.terms.methods import Method

IMAGE: Final = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a person says in place of what would be looked up.

    Attributes:
        version: Release of vLLM; `None`: as the image's tag tells, or the serving.
        accelerator: Name of the GPU; `None`: as serving or node selector tell.
        target: What the served model's `config.json` tells.
        model: The same for the cost model; `None` where the file does not tell enough.
        drafts: What the `config.json` of heads and draft models tell, by profile; with the empty
            name, that of every other one.
        catalogue: The GPUs that are known.
        now: Epoch seconds, for schedules.
    """

    version: str | None = None
    accelerator: str | None = None
    target: CheckedModel | None = None
    model: TargetModel | None = None
    drafts: Mapping[str, CheckedModel] = field(default_factory=dict)
    catalogue: Catalogue = field(default_factory=load_catalogue)
    now: float

    def draft(self, profile: str) -> CheckedModel | None:
        """Return what drafts for a profile, as a file tells; `None` where none was given."""
        return self.drafts.get(profile) or self.drafts.get("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The release that a container runs.

    Attributes:
        contract: What it accepts; the newest known where nobody told it.
        told: Whether anything told it.
    """

    contract: EngineContract
    told: bool

    @property
    def version(self) -> str | None:
        """The release, `None` when nothing told it."""
        return self.contract.version if self.told else None


def release_of(image: str, spec: SpeculativeServingSpec | None, said: Said) -> Release:
    """Return the release of a container: a person's word, else the image's tag, else the serving's.

    Args:
        image: The container's image; empty where no container was given.
        spec: The spec of its serving; `None` without one.
        said: A person's word.

    Raises:
        NoContractError: A person's version is none.
    """
    version = said.version or version_of_image(image) or _stated(spec)
    return Release(contract=contract_of(load_engine_contracts(), version), told=version is not None)


def _stated(spec: SpeculativeServingSpec | None) -> str | None:
    told = spec.engine.version if spec is not None and spec.engine is not None else None
    return released(told) if told is not None else None


def unknown_release(image: str, release: Release) -> Finding | None:
    """Return that nothing told the release; `None` when something did."""
    if release.told:
        return None
    judged = f"it is judged as {release.contract.known_as}, and another may accept other keys"
    if not image:
        # A serving that was given alone: nobody is to blame.
        return Finding(
            check="ReleaseUnknown",
            flag=IMAGE,
            value="",
            consequence=f"no container was given that tells the release of vLLM: {judged}",
            fix="give the Deployment as well, or its release in spec.engine.version or --vllm",
            severity=Severity.INFO,
        )
    return Finding(
        check="ReleaseUnknown",
        flag=IMAGE,
        value=image,
        consequence=f"its tag names no release of vLLM: {judged}",
        fix="use a tag such as v0.24.0, or tell the release with spec.engine.version of the "
        "serving or with --vllm",
        severity=Severity.WARNING,
    )


_WEIGHTS: Final = frozenset({Method.EAGLE, Method.EAGLE3, Method.DRAFT_MODEL})


def not_judged(profile: Profile, around: Around) -> Iterator[Finding]:
    """Yield what cannot be judged of a profile's pair, because a model is not known.

    Args:
        profile: The profile.
        around: What is known, drafts among it.
    """
    if profile.method not in _WEIGHTS or profile.model is None:
        return
    if around.model is None and around.target is None:
        yield _unknown_model(
            "TargetUnknown",
            "",
            "the served model is not known: neither vocabularies and widths nor memory are judged",
            "give its config.json with --model-config, or name it in spec.model",
        )
    is_head = profile.method is not Method.DRAFT_MODEL
    known = around.drafts.get(profile.name) or catalogued_draft(profile)
    if known is None and not is_head:
        yield _unknown_model(
            "DraftUnknown",
            profile.model,
            "the draft model is not in the catalogue: its vocabulary is not judged",
            "give its config.json with --draft-config",
        )


def _unknown_model(check: str, model: str, consequence: str, fix: str) -> Finding:
    return Finding(
        check=check,
        flag="model",
        value=on_one_line(model),
        consequence=consequence,
        fix=fix,
        severity=Severity.INFO,
    )


def around_of(server: Server | None, spec: SpeculativeServingSpec | None, said: Said) -> Around:
    """Return what is known around a container; not what drafts.

    Args:
        server: The container; `None` for a serving whose target was not given.
        spec: The spec of its serving; `None` without one.
        said: A person's word.
    """
    words = words_without_profile(server.container) if server is not None else ()
    told = spec.model if spec is not None else None
    found = said.model or target_model(told, served_model(words))
    model = None if isinstance(found, Problem) else found
    pod = server.pod.spec if server is not None else {}
    gpu = accelerator_of(pod, spec, said)
    accelerator = gpu.accelerator if isinstance(gpu, ResolvedAccelerator) else None
    hardware = None
    # How many GPUs an engine has stands in the target's arguments alone: without them a model that
    # is spread over several would be measured by the memory of one.
    if model is not None and accelerator is not None and server is not None:
        hardware = Hardware(
            accelerator=accelerator,
            model=model,
            precision=told.precision if told is not None else None,
        )
    return Around(
        model=model,
        hardware=hardware,
        accelerator=accelerator,
        target=said.target,
        reach=_reach(server) if server is not None else None,
    )


def _reach(server: Server) -> Reach:
    """Return what a container has to get weights with."""
    paths = (text(each.get("mountPath")) for each in mappings(server.body.get("volumeMounts")))
    return Reach(
        variables={each.name: each.value for each in server.container.env},
        mounts=tuple(path for path in paths if path),
        may_have_token=not server.defaults_known
        or any("secretRef" in each for each in mappings(server.body.get("envFrom"))),
    )


def accelerator_of(
    pod: Mapping[str, Any], spec: SpeculativeServingSpec | None, said: Said
) -> ResolvedAccelerator | Problem:
    """Return the GPU, or why it is not known."""
    override = said.accelerator or (spec.accelerator if spec is not None else None)
    selector = mapping(pod.get("nodeSelector"))
    labels = {key: value for key, value in selector.items() if isinstance(value, str)}
    nodes = [labels] if labels else []
    return resolve_accelerator(nodes, said.catalogue, override, scale_slices=True)
