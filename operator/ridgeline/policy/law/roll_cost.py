"""What a roll costs, in request-seconds: the one currency of the law.

By Little's law a fleet with L requests in it spends L request-seconds each second, so what a roll
costs is what L is more than without it:

    cost = Σ over phases (L_phase − L_running)·t  +  the backlog's area  +  cold·L_running

In a phase that carries the demand, L_phase is the concurrency at which old and new replicas
together deliver it (all of them at the same concurrency, as least-request routing has it). In one
that does not, the servers are full and a backlog grows by (D − capacity) ÷ mean answer; the later
phases, and the new profile after the roll, work it off.

`cold` stands for what the curves do not know: drains, and prefix caches that start empty.
"""

from ridgeline.costmodel.curve import Curve
from ridgeline.policy.law.capacity import RollPair
from ridgeline.policy.law.cutoff import concurrency_at

DEFAULT_OUTPUT = 256.0
"""Mean answer in tokens while it is not known; it only turns tokens of backlog into requests."""


def requests_in_flight(
    curve: Curve, *, demand: float, engines: float, mean_output: float, horizon: float
) -> float:
    """Return L, the requests in a fleet on one profile at a demand; never falling with demand.

    Beyond its capacity a fleet is full and its queue grows; counted is the mean queue over
    `horizon` seconds.
    """
    capacity = engines * curve.capacity
    full = engines * concurrency_at(curve, curve.capacity)
    if demand > capacity:
        return full + 0.5 * horizon * (demand - capacity) / mean_output
    return engines * concurrency_at(curve, demand / engines)


def roll_cost(
    roll: RollPair,
    *,
    demand: float,
    mean_output: float,
    phase_seconds: float,
    cold_seconds: float,
) -> float:
    """Return what a roll costs at a demand, in request-seconds, 0 or more.

    Args:
        roll: The roll.
        demand: Tokens per second of the fleet.
        mean_output: Mean answer in tokens.
        phase_seconds: How long one batch of replicas takes.
        cold_seconds: Time that all requests in flight are held up beyond lost capacity.
    """
    engines = roll.replicas * roll.engines_per_replica
    duration = phase_seconds * -(-roll.strategy.replicas // _at_once(roll))
    running = requests_in_flight(
        roll.old, demand=demand, engines=engines, mean_output=mean_output, horizon=duration
    )
    cost, backlog = 0.0, 0.0
    for phase in roll.phases():
        seconds = duration * phase.share
        capacity = roll.capacity(phase)
        old = phase.old * roll.engines_per_replica
        new = phase.new * roll.engines_per_replica
        inside = mixed_requests(roll.old, roll.new, old, new, min(demand, capacity))
        left = max(0.0, backlog + seconds * (demand - capacity) / mean_output)
        cost += seconds * (inside - running + 0.5 * (backlog + left))
        backlog = left
    cost += _drain(backlog, engines * roll.new.capacity - demand, mean_output, duration)
    return max(0.0, cost) + cold_seconds * running


def _at_once(roll: RollPair) -> int:
    return max(1, roll.strategy.surge + roll.strategy.unavailable)


def _drain(backlog: float, spare: float, mean_output: float, duration: float) -> float:
    """Return the area of a backlog that spare capacity works off; at most one roll's time of it."""
    if backlog <= 0:
        return 0.0
    if spare <= 0:
        return backlog * duration
    return backlog * min(duration, 0.5 * backlog * mean_output / spare)


def mixed_requests(old: Curve, new: Curve, olds: float, news: float, demand: float) -> float:
    """Return the requests in engines of two profiles at equal concurrency that serve a demand.

    Args:
        old: Curve of the one profile.
        new: Curve of the other.
        olds: Engines on the one.
        news: Engines on the other.
        demand: Tokens per second of all of them; what they cannot deliver is not counted.
    """

    def served(concurrency: float) -> float:
        return olds * old.tokens_at(concurrency) + news * new.tokens_at(concurrency)

    points = (0.0, *sorted({*old.concurrency, *new.concurrency}))
    low, high = 0, len(points) - 1
    if served(points[high]) <= demand:
        return (olds + news) * points[high]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if served(points[middle]) <= demand else (low, middle)
    below, above = served(points[low]), served(points[high])
    share = (demand - below) / (above - below)
    return (olds + news) * (points[low] + share * (points[high] - points[low]))
