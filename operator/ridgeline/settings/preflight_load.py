"""What a release does about load while it serves, where that is less than a person may think.

Releases from 0.24 on take a schedule; 0.8 and 0.9 have a switch by the length of the queue; what
lies between drafts the same at any load, whatever its config says.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ridgeline.costmodel.table import CutoffTable
from ridgeline.engine.check_subject import CONFIG_FLAG, Subject
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.flags import precision_hint
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.settings.advise_schedule import DISABLE_KEY, in_engine
from ridgeline.settings.goodput import GoodputInputs, answer, ask
from ridgeline.settings.preflight_room import Hardware
from ridgeline.terms.methods import Method

_NONE: Final = Profile(name="none", method=Method.DISABLED)


def load_findings(
    subject: Subject, profile: Profile, hardware: Hardware | None
) -> Iterator[Finding]:
    """Yield that nothing but a roll follows the load, or how the engine's own switch is written.

    Args:
        subject: The server.
        profile: What its config says.
        hardware: What a cut-off is reckoned with; `None` when it is not known.
    """
    contract = subject.contract
    silent = contract.honours_schedule or DISABLE_KEY in subject.keys
    if silent or subject.config is None or not profile.method.speculates:
        return
    told = in_engine(profile, (), contract, cutoff=_cutoff(subject, profile, hardware))
    way = "let ridgeline roll to a profile without speculation when load is high"
    consequence = f"it drafts as much when full as when quiet: {told.why}"
    if told.config is not None:
        way = f"write {CONFIG_FLAG}={told.config}, where the V0 engine serves"
        consequence = f"it drafts as much when full as when quiet; with {DISABLE_KEY}, {told.why}"
    yield Finding(
        check="LoadNotFollowed",
        flag=CONFIG_FLAG,
        value="",
        consequence=consequence,
        fix=way,
        severity=Severity.INFO,
    )


def _cutoff(subject: Subject, profile: Profile, hardware: Hardware | None) -> float | None:
    """Return the concurrency from which the cost model says that drafting costs more than it gives.

    A prior of the method's acceptance is good enough for a remark.
    """
    if hardware is None:
        return None
    asked = ask(
        (replace(profile, name="asked"), _NONE),
        GoodputInputs(
            accelerator=hardware.accelerator,
            model=hardware.model,
            precision=hardware.precision or precision_hint(subject.words).precision,
            served=subject.served,
            engine_version=subject.contract.version,
        ),
    )
    table = asked if isinstance(asked, Problem) else answer(asked).cutoff
    if not isinstance(table, CutoffTable):
        return None
    return next((row.up_to for row in table.rows if row.profile == "asked"), None)
