"""What telemetry taught of a serving's profiles; kept in status, so it outlives the process.

It holds for one basis (model, GPU, parallelism, engine version) and is dropped with it.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedArm:
    """What is known of one profile.

    Attributes:
        profile: Its name.
        acceptance: p_1 … p_K; empty while nothing is known, or when it drafts nothing.
        drafted: Share of request-steps that drafted; `None` while nothing is known.
        log_scale: ln of observed ÷ predicted step time.
        windows: Rate windows that the scale rests on; 0 for a profile not seen.
    """

    profile: str
    acceptance: tuple[float, ...] = ()
    drafted: float | None = None
    log_scale: float = 0.0
    windows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What is known of all profiles, and of the requests.

    Attributes:
        basis: Model, GPU, parallelism and engine version that it holds for, as one text.
        context_tokens: Mean context of a request in decode; `None` while it is not known.
        prefill_per_token: Prompt tokens computed per generated token; `None` likewise.
        arms: What is known of each profile, at most one entry for each.
        written_at: Epoch seconds when it was last written to status.
    """

    basis: str
    context_tokens: float | None = None
    prefill_per_token: float | None = None
    arms: tuple[LearnedArm, ...] = ()
    written_at: float = 0.0

    def arm(self, profile: str) -> LearnedArm | None:
        """Return what is known of a profile, `None` when nothing is."""
        return next((each for each in self.arms if each.profile == profile), None)

    def with_arm(self, arm: LearnedArm) -> "Learned":
        """Return it with one profile's entry put in or replaced, in the order of names."""
        others = tuple(each for each in self.arms if each.profile != arm.profile)
        arms = sorted((*others, arm), key=lambda each: each.profile)
        return replace(self, arms=tuple(arms))
