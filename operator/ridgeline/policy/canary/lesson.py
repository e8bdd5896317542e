"""What a canary teaches of its profile, by the same rules as a whole fleet would."""

from dataclasses import replace

from ridgeline.policy.facts import Facts, Problem
from ridgeline.policy.learning import Learning, learn
from ridgeline.policy.memory import Memory
from ridgeline.policy.settings import PolicySettings
from ridgeline.policy.situation import observe


def canary_alone(facts: Facts, profile: str) -> Facts | None:
    """Return the facts as if the canary's replicas were the fleet; `None` without any."""
    replicas = tuple(each for each in facts.replicas if each.profile == profile)
    if isinstance(facts.target, Problem) or not replicas:
        return None
    target = replace(
        facts.target, active_profile=profile, rollout=None, desired_replicas=len(replicas)
    )
    return replace(facts, target=target, replicas=replicas, starts=())


def learn_from_canary(
    facts: Facts,
    profile: str,
    settings: PolicySettings,
    memory: Memory,
    canary: Learning,
    fleet: Learning,
    now: float,
) -> tuple[Learning, Learning]:
    """Return what is known of the canary, and of the fleet, after this moment.

    Args:
        facts: What is known now of all replicas.
        profile: Profile of the canary.
        settings: Settings of the serving.
        memory: What is remembered.
        canary: What the canary taught until now.
        fleet: What the process knows of all profiles.
        now: Epoch seconds.
    """
    alone = canary_alone(facts, profile)
    if alone is None:
        return canary, fleet
    situation = observe(alone, settings, memory, now)
    canary = learn(situation, fleet.learned or memory.slow.learned, canary)
    arm = canary.learned.arm(profile) if canary.learned is not None else None
    known = fleet.learned or canary.learned
    if arm is None or known is None:
        return canary, fleet
    return canary, replace(fleet, learned=known.with_arm(arm))
