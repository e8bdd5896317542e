"""What is checked before a server starts: one container with each profile of its serving.

    container, profiles, contract, what is known around them → subjects → findings

Values in and out: nothing is read, nothing is asked of a cluster. `ridgeline lint` and the check
before a roll judge alike because both come here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.memory import Room
from ridgeline.engine.args_expand import expanded
from ridgeline.engine.check_all import findings_of
from ridgeline.engine.check_subject import CheckedModel, Subject
from ridgeline.engine.check_text import check_text
from ridgeline.engine.container import Container, known_environment
from ridgeline.engine.contract import EngineContract
from ridgeline.engine.findings import Finding, worst_first
from ridgeline.engine.speculative_config import Profile, config_of
from ridgeline.settings.preflight_adaptive import adaptive_findings
from ridgeline.settings.preflight_load import load_findings
from ridgeline.settings.preflight_models import (
    catalogued_draft,
    catalogued_target,
    pair_findings,
)
from ridgeline.settings.preflight_room import Hardware, rooms_of, share_findings
from ridgeline.settings.preflight_weights import Reach, weights_findings
from ridgeline.settings.target_model import TargetModel
from ridgeline.terms.names import PROFILE_ENV

_BY_KUBELET: Final = f"$({PROFILE_ENV})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is known around a container. What is not known is not judged.

    Attributes:
        model: The served model by the catalogue or a person's word; `None` when not known.
        hardware: What memory is reckoned with; `None` when model or GPU is not known.
        accelerator: The GPU, where only that is known.
        target: What the served model's `config.json` tells; `None`: as the catalogue tells.
        drafts: The same of heads and draft models, by the profile's name.
        reach: What the container has to get weights with; `None` when that is not known.
    """

    model: TargetModel | None = None
    hardware: Hardware | None = None
    accelerator: Accelerator | None = None
    target: CheckedModel | None = None
    drafts: Mapping[str, CheckedModel] = field(default_factory=dict)
    reach: Reach | None = None


NOTHING_KNOWN: Final = Around()


def subjects_of(
    container: Container,
    profiles: Sequence[Profile],
    contract: EngineContract,
    around: Around = NOTHING_KNOWN,
) -> tuple[tuple[str, Subject], ...]:
    """Return what is checked: for each profile its name, and the server that would run it.

    Args:
        container: The container that runs vLLM; with a `--config` file, with its words
            (`engine.config_file.with_config_file`).
        profiles: The profiles.
        contract: What the release accepts.
        around: What else is known.
    """
    environment = known_environment(container)
    words = words_without_profile(container)
    rooms: Mapping[str, Room | CannotSay] = {}
    if around.hardware is not None:
        rooms = rooms_of(words, profiles, contract, around.hardware)
    target = around.target
    if target is None and around.model is not None:
        target = catalogued_target(around.model)
    return tuple(
        (
            profile.name,
            Subject(
                contract=contract,
                config=config_of(profile) or None,
                words=words,
                environment=environment,
                target=target,
                draft=around.drafts.get(profile.name) or catalogued_draft(profile),
                room=rooms.get(profile.name),
            ),
        )
        for profile in profiles
    )


def findings_by_profile(
    container: Container,
    profiles: Sequence[Profile],
    contract: EngineContract,
    around: Around = NOTHING_KNOWN,
) -> tuple[tuple[str, tuple[Finding, ...]], ...]:
    """Return for each profile its name, and what is wrong with a server that runs it, worst first.

    Args: as `subjects_of`.
    """
    named = {profile.name: profile for profile in profiles}
    return tuple(
        (
            name,
            worst_first(
                (
                    *findings_of_subject(subject, named[name], around),
                    *_empty_text(container, subject),
                )
            ),
        )
        for name, subject in subjects_of(container, profiles, contract, around)
    )


def findings_of_subject(subject: Subject, profile: Profile, around: Around) -> tuple[Finding, ...]:
    """Return what is wrong with one server, in the order of the checks.

    Args:
        subject: The server.
        profile: What its config says, as far as a profile can.
        around: What else is known.
    """
    hardware = around.hardware
    accelerator = hardware.accelerator if hardware is not None else around.accelerator
    return (
        *findings_of(subject),
        *pair_findings(profile, around.model),
        *share_findings(subject),
        *adaptive_findings(subject, accelerator),
        *load_findings(subject, profile, hardware),
        *(weights_findings(profile, around.reach) if around.reach is not None else ()),
    )


def words_without_profile(container: Container) -> tuple[str, ...]:
    """Return the command line with its variables' values, but for the profile's own variable."""
    known = known_environment(container)
    environment = {name: value for name, value in known.items() if name != PROFILE_ENV}
    return tuple(expanded(word, environment) for word in container.words)


def _empty_text(container: Container, subject: Subject) -> Iterator[Finding]:
    """Yield that a release does not take the empty text for no speculation.

    A launcher leaves the flag out where the item is empty; the kubelet hands it over.
    """
    if subject.config is None and any(_BY_KUBELET in word for word in container.words):
        yield from check_text("", subject.contract)
