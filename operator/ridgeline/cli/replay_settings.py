"""What a replay decides by: a serving's files in place of the settings of the record."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from ridgeline.cli.cutoff_facts import Stated, basis_of_serving
from ridgeline.cli.cutoff_files import FilesError, FromFiles, bodies_of, read_files
from ridgeline.controller.basis import Knowledge, policy_settings
from ridgeline.policy.memory import SlowMemory
from ridgeline.policy.scheduled import lead_of
from ridgeline.policy.settings import PolicySettings
from ridgeline.settings.goodput import answer
from ridgeline.settings.schedules import schedule_of
from ridgeline.telemetry.record import RecordedTick
from ridgeline.terms.names import POLICY_KIND, SERVING_KIND

Asking = Callable[[RecordedTick], PolicySettings]

MOST_ANSWERS: Final = 4096


def files_of(serving: Sequence[Path], policy: Path | None, name: str | None) -> FromFiles:
    """Return a serving from files, with a policy in place of its own.

    Args:
        serving: Files with the serving and what belongs to it.
        policy: File with a SpeculationPolicy; `None` for the serving's own.
        name: Name of the serving, where the files hold several.

    Raises:
        FilesError: The files do not hold what is needed.
    """
    if policy is None:
        return read_files(serving, name, {})
    found = [each for each in bodies_of(policy) if each.get("kind") == POLICY_KIND]
    if len(found) != 1:
        raise FilesError(f"--policy {policy} holds {len(found)} SpeculationPolicies: give one")
    metadata = found[0].get("metadata")
    called = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(called, str):
        raise FilesError(f"--policy {policy}: the policy has no metadata.name: set it")
    # The last of one name counts.
    return read_files([*serving, policy], name, {"policyRef": {"name": called}})


def is_serving(file: Path) -> bool:
    """Tell whether a file holds a serving.

    Raises:
        FilesError: It cannot be read.
    """
    return any(each.get("kind") == SERVING_KIND for each in bodies_of(file))


def asking(found: FromFiles) -> Asking:
    """Return what a serving's files ask for at each moment of a record.

    What telemetry had taught by then, orders of a person and the operator's freeze are those of
    the record.

    Raises:
        FilesError: The serving cannot be followed.
    """
    profiles, basis, _ = basis_of_serving(
        found.serving, found.spec, found.deployment, (), Knowledge(found.around), Stated()
    )
    if basis.resolved.problem is not None:
        raise FilesError(basis.resolved.problem.message)
    answered = lru_cache(maxsize=MOST_ANSWERS)(answer)

    def ask(tick: RecordedTick) -> PolicySettings:
        slow = tick.memory.slow if tick.memory is not None else SlowMemory()
        then = tick.settings
        settings = policy_settings(
            basis,
            profiles,
            answered,
            learned=slow.learned,
            frozen=then.frozen if then is not None else False,
            forced=then.forced if then is not None else None,
        )
        lead = lead_of(slow, tick.at)
        return replace(settings, schedule=schedule_of(basis.resolved, tick.at, lead))

    return ask
