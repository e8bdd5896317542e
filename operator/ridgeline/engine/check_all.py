"""Every check of a speculative config before its server starts."""

from ridgeline.engine.check_keys import (
    check_expanded,
    check_keys,
    check_method,
    check_synthetic,
)
from ridgeline.engine.check_lookahead import (
    check_lookahead,
    check_lookup,
    check_model_named,
)
from ridgeline.engine.check_models import check_models
from ridgeline.engine.check_schedule import check_schedule
from ridgeline.engine.check_server import (
    check_draft_tensor_parallel,
    check_flags,
    check_memory,
    check_release,
    check_slots,
    check_traps,
)
from ridgeline.engine.check_subject import Subject
from ridgeline.engine.findings import Finding, worst_first

_CHECKS = (
    check_release,
    check_flags,
    check_keys,
    check_synthetic,
    check_expanded,
    check_method,
    check_model_named,
    check_lookahead,
    check_lookup,
    check_schedule,
    check_draft_tensor_parallel,
    check_slots,
    check_models,
    check_memory,
    check_traps,
)


def findings_of(subject: Subject) -> tuple[Finding, ...]:
    """Return what is wrong with a server and its speculative config, the worst first.

    Nothing is looked up: what the subject does not know is not judged.
    """
    return worst_first(finding for check in _CHECKS for finding in check(subject))
