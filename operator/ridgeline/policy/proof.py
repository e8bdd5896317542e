"""What is known of each profile on the target's present Pod template: whether it was seen to serve.

A proof holds for one config on one template, and where cut-offs are predicted for one basis (model,
GPU, parallelism and engine version). After a new image, another argument or on another GPU it is
stale: the profile must prove itself again, since the same speculation that helped in one engine
version can hurt in the next.
"""

from dataclasses import dataclass
from typing import Final

from ridgeline.engine.fingerprint import fingerprint
from ridgeline.policy.settings import PolicySettings
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
        basis: Fingerprint of what predictions rested on then; empty where nothing was predicted.
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
    basis: str = ""

    def holds_on(self, config: str, template: str, basis: str) -> bool:
        """Tell whether it was seen on the same ground; a basis that is not known is no other."""
        same_basis = not basis or not self.basis or self.basis == basis
        return (self.config, self.template) == (config, template) and same_basis


Proofs = tuple[Proof, ...]


def with_proof(proofs: Proofs, proof: Proof) -> Proofs:
    """Return the proofs with one put in or replaced, the newest last."""
    others = tuple(each for each in proofs if each.profile != proof.profile)
    return (*others, proof)[-MAX_PROOFS:]


def basis_of(settings: PolicySettings) -> str:
    """Return the fingerprint of what predictions rest on; empty where nothing is predicted."""
    return fingerprint(settings.prediction.basis) if settings.prediction is not None else ""


def shown_by(proofs: Proofs, profile: str) -> Proof | None:
    """Return what the profile has shown last, on whatever ground; `None` if nothing."""
    return next((each for each in proofs if each.profile == profile), None)


def proof_of(
    proofs: Proofs, profile: str, config: str, template: str, basis: str = ""
) -> Proof | None:
    """Return what the profile has shown with this config on this ground, `None` if nothing."""
    found = shown_by(proofs, profile)
    return found if found is not None and found.holds_on(config, template, basis) else None


def is_proven(proofs: Proofs, profile: str, config: str, template: str, basis: str = "") -> bool:
    """Tell whether the profile was seen to serve as it would be rolled now."""
    found = proof_of(proofs, profile, config, template, basis)
    return found is not None and found.result in _SERVES


def stale_proof(
    proofs: Proofs, profile: str, config: str, template: str, basis: str = ""
) -> Proof | None:
    """Return what the profile had shown on another ground or config, `None` if nothing."""
    found = shown_by(proofs, profile)
    if found is None or found.holds_on(config, template, basis):
        return None
    return found
