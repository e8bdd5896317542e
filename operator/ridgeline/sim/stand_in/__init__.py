"""A server that stands where ``vllm serve`` stands: same flags, same deaths, same /metrics.

Usage: ``python -m ridgeline.sim.stand_in serve MODEL [flags of vllm serve]``. Everything else is
set by environment variables, so that the argument list stays exactly the one that vLLM would get:

======================================== ========= =================================================
variable                                 default   meaning
======================================== ========= =================================================
STAND_IN_ENGINE_VERSION                  0.32.0    the vLLM release to imitate (0.8.5 … 0.33.0)
STAND_IN_STARTUP_SECONDS                 5         from start to the first accepted connection
STAND_IN_SHUTDOWN_SECONDS                1         from SIGTERM to exit, with nothing left to drain
STAND_IN_TIME_SCALE                      1         multiplies every engine step's duration
STAND_IN_STEP_BASE_MS                    100       a step of an almost empty batch (weights read)
STAND_IN_STEP_REQUEST_MS                 0.6       per decoding request (its KV cache read)
STAND_IN_STEP_TOKEN_MS                   1.8       per token above the knee (compute bound part)
STAND_IN_KNEE_TOKENS                     48        tokens per step that cost no compute time
STAND_IN_PREFILL_TOKEN_MS                0.15      per prompt token computed in the step
STAND_IN_DRAFT_MS                        by method one pass of the drafter
STAND_IN_DRAFT_REQUEST_MS                by method per decoding request, in each such pass
STAND_IN_ACCEPTANCE                      see below conditional acceptance per position, by commas
STAND_IN_MEAN_OUTPUT_TOKENS              0         mean answer length without ignore_eos; 0 lets
                                                   every answer reach max_tokens
STAND_IN_KV_TOKENS                       209664    KV cache size per engine, in tokens
STAND_IN_GAUGE_FLICKER                   0.05      share of steps after which num_requests_running
                                                   shows 0 or 1
STAND_IN_SEED                            0         seed of acceptance, lengths and flicker
STAND_IN_MISSING_MODELS                  nowhere   by commas: a model with such a path element does
                                                   not exist
STAND_IN_VOCABULARY                      (empty)   ``model=size`` by commas; two known sizes that
                                                   differ stop a draft model
STAND_IN_DIE_AFTER_SECONDS               (never)   exit that long after becoming ready …
STAND_IN_DIE_EXIT_CODE                   1         … with this code
STAND_IN_HANG_AFTER_SECONDS              (never)   engine steps stop; HTTP goes on answering
STAND_IN_METRICS_503_AFTER_SECONDS       (never)   /metrics answers 503
STAND_IN_FREEZE_COUNTERS_AFTER_SECONDS   (never)   requests are served, no series moves any more
STAND_IN_SERVES_AFTER_SECONDS            0         /health answers 200 that long before the first
                                                   token
STAND_IN_BOOT_SPREAD                     0         steps are faster or slower by up to this share,
                                                   drawn by the Pod's name (HOSTNAME)
STAND_IN_FAULTS_UNDER                    (all)     profiles that the faults above (… AFTER_SECONDS
                                                   but SERVES) are for
STAND_IN_REFUSES                         (none)    profiles that a validation error ends at once
STAND_IN_MISFITS                         (none)    … whose drafter does not fit, seen at the load
STAND_IN_KILLED_FOR_MEMORY               (none)    … that exit with 137 at the load, without a word
STAND_IN_NEVER_READY                     (none)    … whose start never ends
STAND_IN_STARTUP_BY_PROFILE              (empty)   ``profile=seconds``: added to the start
STAND_IN_STEP_FACTOR                     (empty)   ``profile=factor``: multiplies every step
STAND_IN_ANSWER_SHARE                    (empty)   ``profile=share``: multiplies answers' lengths
======================================== ========= =================================================

A profile is named by its method, by the drafter's model or an element of its path, or as ``none``
without speculation; several stand by commas, and the first that matches counts.

Acceptance defaults to 0.6,0.55,0.5,0.45 (the last value also holds beyond its position). With it
and EAGLE at K=4 speculation wins below about 22 concurrent requests per engine, and loses above.
"""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Runs the stand-in until SIGTERM, SIGINT or a death that vLLM would die.

    Args:
        argv: The arguments after the program's name: ``serve MODEL [flags]``.

    Returns:
        The exit code of the process that vLLM would have been: 0 after a signal, 1 for a refused
        configuration, 2 for a usage error.
    """
    from ridgeline.sim.stand_in.command import run

    return run(argv)
