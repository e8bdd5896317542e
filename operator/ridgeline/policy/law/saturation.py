"""Saturation: requests wait for capacity, or lose their place.

Waiting alone is no sign: a request also waits while a long prompt is computed. So what counts is
the gauge of requests that wait *for capacity* (vLLM 0.20.2 and later); where a server does not
tell, the mean number of requests in the queue; and preemptions in any case. That it must last is
the timers' affair.
"""

from ridgeline.policy.law.inputs import LawInputs, known
from ridgeline.policy.law.settings import LawSettings


def is_saturated(inputs: LawInputs, settings: LawSettings) -> bool:
    """Tell whether the servers are full now; signals that are not known say nothing."""
    share = min(1.0, inputs.seen_share)
    engines = inputs.engines * share
    if not engines > 0:
        return False
    preempted = known(inputs.preemptions_per_second)
    if preempted is not None and preempted > settings.preemptions_per_engine * engines:
        return True
    waiting = known(inputs.waiting_for_capacity)
    if waiting is not None:
        return waiting > settings.waiting_per_engine * engines
    queued = known(inputs.queued_requests)
    return queued is not None and queued > settings.queued_per_engine * engines
