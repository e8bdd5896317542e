"""What is known of each profile on the target's present Pod template: whether it was seen to serve.

A proof holds for one config on one template. After a new image or another argument it is stale:
the profile must prove itself again, since the same speculation that helped in one engine version
can hurt in the next.
"""

from dataclasses import dataclass
from typing import Final

from ridgeline.terms.rolls import ProofResult

MAX_PROOFS: Final = 8

_SERVES: Final = frozenset(
    {
        ProofResult.SERVED,
        ProofResult.CANARY_PASSED,
        ProofResult.TRIED,
        ProofResult.VERIFIED,
        ProofResult.UNCLEAR,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What a profile has shown.

    Attributes:
        profile: Its name.
        result: What was seen.
        at: Epoch seconds.
        config: Fingerprint of its config then.
        template: Fingerprint of the target's Pod template then.
        gain_percent: How much less time per token was measured than without it, in per cent.
        promised_percent: The same as it had been predicted.
    """

    profile: str
    result: ProofResult
    at: float
    config: str
    template: str
    gain_percent: int | None = None
    promised_percent: int | None = None


Proofs = tuple[Proof, ...]


def with_proof(proofs: Proofs, proof: Proof) -> Proofs:
    """Return the proofs with one put in or replaced, the newest last."""
    others = tuple(each for each in proofs if each.profile != proof.profile)
    return (*others, proof)[-MAX_PROOFS:]


def proof_of(proofs: Proofs, profile: str, config: str, template: str) -> Proof | None:
    """Return what the profile has shown with this config on this template, `None` if nothing."""
    return next(
        (
            each
            for each in proofs
            if (each.profile, each.config, each.template) == (profile, config, template)
        ),
        None,
    )


def is_proven(proofs: Proofs, profile: str, config: str, template: str) -> bool:
    """Tell whether the profile was seen to serve as it would be rolled now."""
    found = proof_of(proofs, profile, config, template)
    return found is not None and found.result in _SERVES


def stale_proof(proofs: Proofs, profile: str, config: str, template: str) -> Proof | None:
    """Return what the profile had shown on another template or config, `None` if nothing."""
    found = next((each for each in proofs if each.profile == profile), None)
    if found is None or (found.config, found.template) == (config, template):
        return None
    return found
