"""What is known of one serving at one moment: one frozen value, input of every decision.

Numbers that could not be had are `None`; nothing non-finite ever gets in here (telemetry turns NaN
and infinities into `None` and counts them in `not_finite`).
Times are epoch seconds, ages and durations are seconds.
"""

from dataclasses import dataclass

from ridgeline.policy.pod_start import PodStart
from ridgeline.policy.roll_plan import RollPlan
from ridgeline.terms.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that keeps a serving from being decided, in words for a person."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """Means over the rate window of one engine (one scheduler) of one replica.

    Attributes:
        engine: vLLM's `engine` label.
        age_seconds: Age of the newest sample behind these numbers when they were read.
        decode_concurrency: Mean number of requests in decode (rate of the inter-token sum).
        request_steps_per_second: Request-steps per second (rate of the inter-token count).
        steps_per_second: Engine steps per second.
        step_seconds: Mean step latency as a request sees it (inter-token sum ÷ count).
        mean_batch: Mean number of requests per engine step (count ÷ iterations).
        generated_tokens_per_second: Output tokens per second.
        acceptance_length: Mean tokens per request-step (1 without speculation).
        tpot_seconds: Mean time per output token.
        drafts_per_second: Drafts per second; `None` when the server exports no speculation series.
        drafted_share: Share of request-steps that drafted.
        running: Gauge of running requests (it flickers: a cross-check, never decided on).
        waiting: Gauge of waiting requests.
        tpot_p99_seconds: P99 of the time per output token over requests finished in the window.
        step_latency_p99_seconds: P99 of vLLM's ITL (per request-step), shown as step latency.
        tpot_p99_bounds: Bounds in seconds of the histogram bucket that the P99 lies in: it resolves
            no finer.
        acceptance: p_1 … p_K: share of drafts of which the first i tokens were all accepted; `None`
            when not known, or when the lookahead varied and later positions would read too low.
        draft_tokens_per_second: Drafted tokens per second; with drafts, the mean lookahead.
        prompt_tokens_per_second: Prompt tokens computed per second.
        mean_prompt_tokens: Mean prompt of requests that finished in the window.
        mean_output_tokens: Mean answer of requests that finished in the window.
        kv_cache_use: Share of the KV cache in use, 0 to 1.
        preemptions_per_second: Requests per second that lost their place for lack of KV cache.
        waiting_for_capacity: Gauge of requests that wait for a place and nothing else; `None` where
            the server does not tell why they wait.
        queue_seconds_per_second: Mean number of requests in the queue over the window, from the
            queue time of requests that left it.
        ttft_seconds: Mean time to the first token.
        finished_per_second: Requests per second that finished, by vLLM's finish reason, in the
            order of the reasons and at most eight of them (the rest are summed as `other`); a
            reason that nothing finished with may be there with 0. `None` when not exported.
        longest_answer_seconds: Upper bound of the time that the longest request of about the last
            hour took from its arrival to its end; `None` when none finished or nobody tells. Only
            requests that finished count: shortly after a start those were short.
        longest_answer_unbounded: Whether the longest took longer than any bound of the histogram:
            `longest_answer_seconds` is then the highest bound, a lower one.
        not_finite: Names of the signals that came back as NaN or infinite.
    """

    engine: str
    age_seconds: float
    decode_concurrency: float | None = None
    request_steps_per_second: float | None = None
    steps_per_second: float | None = None
    step_seconds: float | None = None
    mean_batch: float | None = None
    generated_tokens_per_second: float | None = None
    acceptance_length: float | None = None
    tpot_seconds: float | None = None
    drafts_per_second: float | None = None
    drafted_share: float | None = None
    running: float | None = None
    waiting: float | None = None
    tpot_p99_seconds: float | None = None
    step_latency_p99_seconds: float | None = None
    tpot_p99_bounds: tuple[float, float] | None = None
    acceptance: tuple[float, ...] | None = None
    draft_tokens_per_second: float | None = None
    prompt_tokens_per_second: float | None = None
    mean_prompt_tokens: float | None = None
    mean_output_tokens: float | None = None
    kv_cache_use: float | None = None
    preemptions_per_second: float | None = None
    waiting_for_capacity: float | None = None
    queue_seconds_per_second: float | None = None
    ttft_seconds: float | None = None
    finished_per_second: tuple[tuple[str, float], ...] | None = None
    longest_answer_seconds: float | None = None
    longest_answer_unbounded: bool = False
    not_finite: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaFacts:
    """A live, Ready Pod of the target, with the engines that telemetry knows of it.

    Attributes:
        name: The Pod's name.
        ready_seconds: How long it has been Ready.
        profile: Profile that its label names, `None` when it has no label.
        engines: Empty when telemetry has no sample of this Pod.
        expected_engines: Engines that this Pod should show (data-parallel size); 1 if not told.
        engine_version: Version of the server as its image tag or the server itself tells it, such
            as `0.24.0`; `None` when neither does.
    """

    name: str
    ready_seconds: float
    profile: str | None
    engines: tuple[EngineFacts, ...]
    expected_engines: int = 1
    engine_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutFacts:
    """A rolling update (or scaling) of the target that has not ended.

    Attributes:
        updated: Pods of the newest template.
        available: Pods that are available, of any template.
        old: Pods of other templates; `None` where that is not told.
        desired: Replicas asked for.
        paused: Whether somebody paused the rollout.
        observed: Whether the Deployment controller has seen the newest spec.
        deadline_exceeded: Whether the Deployment controller reported ProgressDeadlineExceeded.
    """

    updated: int
    available: int
    desired: int
    old: int | None = None
    paused: bool = False
    observed: bool = True
    deadline_exceeded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """The target Deployment as the API server last told it.

    Attributes:
        uid: Its identity.
        generation: Its generation (`metadata.generation`).
        last_writer: Field manager that wrote its spec last, apart from us; empty if not told.
        last_writer_at: Epoch seconds of that write, to the second; 0 if not told.
        desired_replicas: `spec.replicas`.
        active_profile: Profile that its Pod template carries; `None` when no profile describes it.
        active_config: The speculative config that the template carries, for messages.
        rollout: What is under way, `None` when nothing is.
        template: Fingerprint of its Pod template without what is ours.
        label: Profile that the template's label names, `None` without one.
        has_item: Whether its container has the env item that carries the config; without one the
            default of the target's own manifest applies.
        paused_by_us: Whether `spec.paused` is true and ours.
        in_args: Whether the config stands in the container's argument list, which others write as
            a whole. `has_item` then tells whether that list is ours.
    """

    uid: str
    generation: int = 1
    last_writer: str = ""
    last_writer_at: float = 0.0
    desired_replicas: int
    active_profile: str | None
    active_config: str
    rollout: RolloutFacts | None
    template: str = ""
    label: str | None = None
    has_item: bool = False
    paused_by_us: bool = False
    in_args: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryFacts:
    """How the telemetry endpoint fared in the tick behind these facts.

    Attributes:
        endpoint: Name of the endpoint.
        window_seconds: Rate window of the signals.
        stale_after_seconds: Samples older than this are not acted on.
        error: Why the endpoint could not be read, `None` when it could.
        answered_at: Epoch seconds of the answer; `None` when it has never answered.
        read_seconds_ago: How long ago the engines' numbers were read; their ages are as of then.
        warnings: Warnings that the endpoint attached to its answers.
        partial: Those of them that mean that its answers may lack series or samples.
    """

    endpoint: str
    window_seconds: float
    stale_after_seconds: float
    error: str | None = None
    answered_at: float | None = None
    read_seconds_ago: float = 0.0
    warnings: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that a decision about one serving rests on.

    Attributes:
        target: The target, or why there is none.
        replicas: Its live, Ready Pods.
        telemetry: How the telemetry endpoint fared, or why there is none.
        plan: How a roll of the target would go; `None` when that is not looked into.
        starts: Its Pods that are not Ready, or have crashed since they were made.
    """

    target: TargetFacts | Problem
    replicas: tuple[ReplicaFacts, ...]
    telemetry: TelemetryFacts | Problem
    plan: RollPlan | None = None
    starts: tuple[PodStart, ...] = ()
