"""A speculative config that stands on a command line, judged as a profile would be.

It may be any object: what no profile could be is judged as far as it goes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ridgeline.engine.check_subject import Subject
from ridgeline.engine.container import Container
from ridgeline.engine.contract import EngineContract
from ridgeline.engine.findings import Finding, worst_first
from ridgeline.engine.speculative_config import VLLM_METHOD, Profile
from ridgeline.settings.preflight import NOTHING_KNOWN, Around, findings_of_subject, subjects_of
from ridgeline.terms.methods import Method

OWN: Final = "its own"
"""Name under which `Around.drafts` holds what drafts for a config of a command line."""

_NONE: Final = Profile(name="none", method=Method.DISABLED)


def findings_of_config(
    container: Container,
    config: Mapping[str, object] | None,
    contract: EngineContract,
    around: Around = NOTHING_KNOWN,
) -> tuple[Finding, ...]:
    """Return what is wrong with a server and the config of its own command line, worst first.

    Args:
        container: The container, as `preflight.subjects_of` takes it.
        config: Its config, as `engine.args_reading.config_in_force` returns it; `None` for none.
        contract: What the release accepts.
        around: What else is known.
    """
    profile = _profile(config, contract)
    profiles = (profile, _NONE) if profile.method.speculates else (profile,)
    subject = dict(subjects_of(container, profiles, contract, around))[OWN]
    subject = replace(subject, config=config)
    return worst_first(findings_of_subject(subject, profile, around))


def _profile(config: Mapping[str, object] | None, contract: EngineContract) -> Profile:
    """Return what tells a config's draft and its room; without speculation where none can."""
    if config is None:
        return Profile(name=OWN, method=Method.DISABLED)
    asked = Subject(contract=contract, config=config)
    method = next((each for each, name in VLLM_METHOD.items() if name == asked.method), None)
    model = asked.keys.get("model")
    return Profile(
        name=OWN,
        method=method or Method.DISABLED,
        model=model if isinstance(model, str) else None,
        num_speculative_tokens=asked.lookahead,
    )
