"""The queries of every fifth tick about what the engines do and how they speculate."""

from typing import Final

from ridgeline.telemetry.named_query import ENGINE_LABEL, POSITION_LABEL, Cadence, NamedQuery
from ridgeline.telemetry.promql import (
    CREATED,
    ITL,
    NOW,
    OLD_ITL,
    RATE,
    TOKENS,
    TPOT,
    bucket_bound,
    gauge,
    mean,
    mean_of_gpus,
    quantile,
    rate,
)

_PER_POSITION: Final = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_BY_SOURCE: Final = "vllm:prompt_tokens_by_source_total"
_BY_REASON: Final = "vllm:num_requests_waiting_by_reason"
_UNKNOWN: Final = "The number is unknown."
_WITH_MORE: Final = ("by", "more_matchers")
_OF_FINISHED: Final = (
    "Only requests that finished in the window count: it lags by the length of an answer, and a "
    "young replica first tells of its shortest answers."
)

STEP_QUERIES: Final = (
    NamedQuery(
        name="engine_steps",
        template=rate("vllm:iteration_tokens_total_count"),
        parameters=RATE,
        unit="steps/second",
        description="Engine steps per second.",
        why="Request-steps divided by it is the mean batch, a second witness of concurrency.",
        trap=(
            "With several API-server processes each of them counts the steps. Such servers export "
            "no creation times; where an engine has none, its mean batch is left unknown."
        ),
        fallback="Steps and mean batch are unknown.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="drafts",
        template=rate("vllm:spec_decode_num_drafts_total"),
        parameters=RATE,
        unit="drafts/second",
        description="Drafts per second; no series where the server does not speculate.",
        why=(
            "Divided by request-steps it is the share of steps that really drafted: accepted per "
            "drafted token looks healthy even where an in-engine schedule drafts almost nothing."
        ),
        trap="Absence is how a server without speculation looks, not an outage.",
        fallback="No speculation, when engine steps of the same read are known; else unknown.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="draft_tokens",
        template=rate("vllm:spec_decode_num_draft_tokens_total"),
        parameters=RATE,
        unit="tokens/second",
        description="Drafted tokens per second; divided by the drafts, the mean lookahead.",
        why=(
            "vLLM exports no drafts per position: only the mean lookahead tells whether all drafts "
            "were as long as the positions are many."
        ),
        trap="A mean lookahead below the number of positions means that it varied.",
        fallback="Acceptance per position is unknown, since the lookahead may have varied.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="accepted_per_position",
        template=f"max by ($by, {POSITION_LABEL}) (rate({_PER_POSITION}{{$matchers}}[$window]))",
        parameters=RATE,
        unit="tokens/second",
        description="Drafts per second of which all tokens up to the position were accepted.",
        why="Already cumulative over positions: divided by the drafts it is the acceptance p_i.",
        trap=(
            "Where the lookahead varied (an in-engine schedule, n-grams) later positions read too "
            "low, and where less than a tenth of the steps drafted the rest is not representative: "
            "acceptance is then unknown. Tokens that a limit cut off count as accepted."
        ),
        fallback="Acceptance per position is unknown; the acceptance length still is known.",
        cadence=Cadence.SLOW,
        labels=(ENGINE_LABEL, POSITION_LABEL),
    ),
)

LOAD_QUERIES: Final = (
    NamedQuery(
        name="running",
        template=gauge("vllm:num_requests_running"),
        parameters=NOW,
        unit="requests",
        description="Requests in the running batch at the newest sample.",
        why="A cross-check for people.",
        trap="It flickers: one sample may read 0 or 1 under steady load. Never decided on.",
        fallback=_UNKNOWN,
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="waiting",
        template=gauge("vllm:num_requests_waiting"),
        parameters=NOW,
        unit="requests",
        description="Requests that wait for a place in the batch at the newest sample.",
        why="Shows saturation, where concurrency stops to tell the demand.",
        trap="Requests also wait for other things than a place: see waiting_for_capacity.",
        fallback=_UNKNOWN,
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="waiting_for_capacity",
        template=f'max by ($by) ({_BY_REASON}{{reason="capacity"$more_matchers}})',
        parameters=_WITH_MORE,
        unit="requests",
        description="Requests that wait for a place in the batch and for nothing else.",
        why="Leaves out requests deferred for other reasons (adapters, KV transfer).",
        trap="One sample of a gauge; exported from vLLM 0.20.2 on.",
        fallback="Unknown before 0.20.2: waiting and the queue time are what there is.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="queue_time",
        template=rate("vllm:request_queue_time_seconds_sum"),
        parameters=RATE,
        unit="requests",
        description="Seconds in the queue per second: the mean number of requests in it.",
        why="A mean over the window where the gauges are single samples; in every version.",
        trap=(
            "vLLM adds a request's queue time when the request finishes: a queue that builds up "
            "shows an answer later, and a queue that never moves does not show."
        ),
        fallback=_UNKNOWN,
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="preemptions",
        template=rate("vllm:num_preemptions_total"),
        parameters=RATE,
        unit="requests/second",
        description="Requests per second that lost their place for lack of KV cache.",
        why="Saturation of memory, and the sign that decode_concurrency may read too high.",
        trap="A fall of the counter is a restart, which `rate` takes care of.",
        fallback=_UNKNOWN,
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="kv_cache",
        template=f"{gauge('vllm:kv_cache_usage_perc')} or {gauge('vllm:gpu_cache_usage_perc')}",
        parameters=NOW,
        unit="share, 0 to 1",
        description="Share of the KV cache in use at the newest sample.",
        why="Renamed in vLLM 0.9.2 (both names up to 0.11).",
        trap="A share, in spite of its name: 1 is 100 per cent.",
        fallback=_UNKNOWN,
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="prompt_tokens",
        template=(
            f'max by ($by) (rate({_BY_SOURCE}{{source="local_compute"$more_matchers}}[$window]))'
            f" or {rate('vllm:prompt_tokens_total')}"
        ),
        parameters=("by", "matchers", "more_matchers", "window"),
        unit="tokens/second",
        description="Prompt tokens computed per second.",
        why=(
            "Prompt tokens from a cache cost no prefill. Told apart from vLLM 0.16 on; before, all "
            "prompt tokens are counted, cached ones too."
        ),
        trap=(
            "Prompts count when they are complete. Before 0.16 it reads too high by the hits of "
            "the prefix cache."
        ),
        fallback=_UNKNOWN,
        cadence=Cadence.SLOW,
    ),
)

LATENCY_QUERIES: Final = (
    NamedQuery(
        name="prompt_length",
        template=mean("vllm:request_prompt_tokens"),
        parameters=RATE,
        unit="tokens",
        description="Mean prompt (cached part included) of requests that finished in the window.",
        why="With half the mean answer it is the mean context that decode steps read.",
        trap=_OF_FINISHED,
        fallback=_UNKNOWN,
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="output_length",
        template=mean("vllm:request_generation_tokens"),
        parameters=RATE,
        unit="tokens",
        description="Mean answer of the requests that finished in the window.",
        why="See prompt_length; also how long a request stays, for the demand.",
        trap=_OF_FINISHED,
        fallback=_UNKNOWN,
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="ttft",
        template=mean("vllm:time_to_first_token_seconds"),
        parameters=RATE,
        unit="seconds",
        description="Mean time to the first token, queue included.",
        why="What a profile costs before the first token; the mean needs no buckets.",
        trap="Grows with the queue: it says nothing about a profile while requests wait.",
        fallback=_UNKNOWN,
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="tpot_p99",
        template=quantile(TPOT),
        parameters=RATE,
        unit="seconds",
        description="P99 of the time per output token, over requests that finished in the window.",
        why=(
            "Per token, so comparable across profiles; from vLLM 0.11. `>= 0` drops the NaN of a "
            "window without a finished request: no traffic is no number, not a broken one."
        ),
        trap=f"{_OF_FINISHED} Inside its bucket it is interpolated: it resolves no finer.",
        fallback="Unknown; the mean time per output token comes from counters and is fresh.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="tpot_p99_lower",
        template=bucket_bound(TPOT, upper=False),
        parameters=RATE,
        unit="seconds",
        description="Lower bound of the histogram bucket that tpot_p99 lies in.",
        why="A histogram of 0 and 1 with everything in that bucket; its lowest quantile.",
        trap="Equal to the upper bound in the last bucket: the P99 is at least that.",
        fallback="The bounds are unknown.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="tpot_p99_upper",
        template=bucket_bound(TPOT, upper=True),
        parameters=RATE,
        unit="seconds",
        description="Upper bound of the histogram bucket that tpot_p99 lies in.",
        why="A histogram of 0 and 1 with everything in that bucket; its highest quantile.",
        trap="Two P99 in one bucket do not differ, whatever their numbers say.",
        fallback="The bounds are unknown.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="step_latency_p99",
        template=f"{quantile(ITL)} or {quantile(OLD_ITL)}",
        parameters=RATE,
        unit="seconds",
        description="P99 of vLLM's ITL: per request-step, not per token.",
        why="Shown under its own name, since people know it. `>= 0` as for tpot_p99.",
        trap="A step that yields three tokens takes longer: never compared across profiles.",
        fallback=_UNKNOWN,
        cadence=Cadence.SLOW,
    ),
)

IDENTITY_QUERIES: Final = (
    NamedQuery(
        name="scrapes",
        template=f"count by ($by) ({TOKENS}{{$matchers}})",
        parameters=NOW,
        unit="series",
        description="How many series the endpoint holds for one engine; 1 is right.",
        why="Tells people that a Pod is scraped twice; the numbers stay right, the bill does not.",
        trap="Two servers under one name also count as two: see process_spread.",
        fallback="Nothing is remarked on.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="process_spread",
        template=(f"max by ($by) ({CREATED}{{$matchers}}) - min by ($by) ({CREATED}{{$matchers}})"),
        parameters=NOW,
        unit="seconds",
        description="Difference of the start times of the servers behind one engine's series.",
        why=(
            "Two scrapes of one server tell the same creation time. A difference means two servers "
            "under one name (two clusters behind one store, a wrong relabelling): ambiguous data."
        ),
        trap=(
            "Servers with several API-server processes export no creation times, and relabelling "
            "may drop them: then two servers under one name look like one scraped twice."
        ),
        fallback="The mean batch is unknown (see engine_steps), and two servers are not noticed.",
        cadence=Cadence.SLOW,
    ),
)

GPU_QUERIES: Final = tuple(
    NamedQuery(
        name=name,
        template=mean_of_gpus(metric),
        parameters=("namespace", "pod", "more_matchers", "window"),
        unit="share, 0 to 1",
        description=f"{what}, mean over the Pod's GPUs and the window. Optional.",
        why=(
            "NVIDIA's DCGM exporter tells whether decode really is bound by memory bandwidth. It "
            "names the Pod in `exported_pod` or `pod`, by how it is scraped."
        ),
        trap=(
            "Prefill counts too, and with GPUs that are shared so do the neighbours. Never decided "
            "on. The endpoint's matchers apply: one that names a job of vLLM hides it."
        ),
        fallback="Nothing: endpoints without the exporter answer with no series.",
        cadence=Cadence.SLOW,
        labels=(),
    )
    for name, metric, what in (
        ("gpu_tensor_active", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "Share of cycles of tensor cores"),
        ("gpu_dram_active", "DCGM_FI_PROF_DRAM_ACTIVE", "Share of cycles of memory transfer"),
    )
)
