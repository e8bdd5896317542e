"""Changes of a recorded page: what other versions, other loads and other set-ups export."""

import re

ITL = "vllm:inter_token_latency_seconds"
OLD_ITL = "vllm:time_per_output_token_seconds"
KV = "vllm:kv_cache_usage_perc"
OLD_KV = "vllm:gpu_cache_usage_perc"
PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"


def without(text: str, *beginnings: str) -> str:
    """The page without series that begin so."""
    return "".join(x for x in text.splitlines(keepends=True) if not x.startswith(beginnings))


def scaled(text: str, beginning: str, factor: float) -> str:
    """The page with every value of such series multiplied."""

    def line(each: str) -> str:
        series, value = each.rsplit(" ", 1)
        return f"{series} {float(value) * factor!r}" if each.startswith(beginning) else each

    return "".join(f"{line(each)}\n" for each in text.splitlines())


def derived(text: str, series: str, source: str, factor: float) -> str:
    """The page with `series` being a multiple of the series that begins with `source`."""
    values = [x.rsplit(" ", 1)[1] for x in text.splitlines() if x.startswith(source)]
    return without(text, series) + f"{series} {float(values[0]) * factor!r}\n"


def set_to(text: str, beginning: str, value: float) -> str:
    """The page with such series at this value."""
    return re.sub(rf"(?m)^({re.escape(beginning)}[^ ]*) .*$", rf"\g<1> {value!r}", text)


def old_names(text: str) -> str:
    """As vLLM up to 0.9.0 names them."""
    return text.replace(ITL, OLD_ITL).replace(KV, OLD_KV)


def both_names(text: str) -> str:
    """As some versions name them: the same numbers twice."""
    renamed = [x for x in text.splitlines(keepends=True) if x.startswith((ITL, KV))]
    return text + old_names("".join(renamed))


def before_sources(text: str) -> str:
    """As vLLM up to 0.15: prompt tokens are not told apart."""
    return without(text, "vllm:prompt_tokens_by_source", "vllm:prompt_tokens_cached")


def before_reasons(text: str) -> str:
    """As vLLM up to 0.19: nobody tells why requests wait."""
    return without(text, "vllm:num_requests_waiting_by_reason")


def nan_sum(text: str) -> str:
    """The inter-token sum is broken."""
    return re.sub(rf"(?m)^({ITL}_sum[^ ]*) .*$", r"\1 NaN", text)


def none_finished(text: str) -> str:
    """Long answers under way: histograms of finished requests do not exist yet."""
    return without(text, "vllm:request_", "vllm:e2e_request_")


def no_engine_label(text: str) -> str:
    """As the V0 engine labels its series."""
    return text.replace('engine="0",', "")


def several_processes(text: str) -> str:
    """Two API-server processes: no creation times, and each counts the engine's steps."""
    kept = "".join(x for x in text.splitlines(keepends=True) if "_created" not in x)
    return scaled(kept, "vllm:iteration_tokens_total", 2.0)


def saturated(text: str) -> str:
    """A server short of KV cache, three of four prompt tokens of which come from a cache."""
    label = '{engine="0",model_name="/models/target"}'
    text = set_to(text, "vllm:num_requests_waiting{", 15.0)
    for reason, waiting in (("capacity", 7.0), ("deferred", 8.0)):
        series = f'vllm:num_requests_waiting_by_reason{label[:-1]},reason="{reason}"'
        text = set_to(text, series, waiting)
    text = set_to(text, KV, 0.83)
    steps = "vllm:iteration_tokens_total_count"
    text = derived(text, f"vllm:num_preemptions_total{label}", steps, 0.01)
    text = derived(text, f"vllm:request_queue_time_seconds_sum{label}", steps, 0.05)
    local = f"vllm:prompt_tokens_by_source_total{label[:-1]},source="
    text = scaled(text, f'{local}"local_compute"', 0.25)
    return derived(text, f'{local}"local_cache_hit"}}', f'{local}"local_compute"', 3.0)


def shorter_drafts(text: str) -> str:
    """Drafts of half the length that they have positions for, in the mean."""
    return scaled(text, "vllm:spec_decode_num_draft_tokens_total", 0.5)


def without_second_itl(text: str) -> str:
    """The second engine lacks one family."""
    lines = text.splitlines(keepends=True)
    return "".join(x for x in lines if not (x.startswith(ITL) and 'engine="1"' in x))


def without_second_engine(text: str) -> str:
    """The second engine exports nothing."""
    return "".join(x for x in text.splitlines(keepends=True) if 'engine="1"' not in x)


def two_pods_behind_one(text: str) -> str:
    """A gateway that hands on the pages of two Pods, each series with its own Pod's labels."""
    pages = [text, scaled(text, "vllm:", 0.5)]
    pages[1] = set_to(pages[1], "vllm:generation_tokens_created", 1_700_000_555.0)
    return "".join(
        page.replace("{", f'{{namespace="inner",pod="inner-{name}",')
        for name, page in zip("ab", pages, strict=True)
    )


def gpu_page(text: str) -> str:
    """What NVIDIA's exporter tells of two GPUs of one Pod, and of a free one."""
    del text
    used = [_gpu(n, "speculating", *shares) for n, shares in enumerate([(0.1, 0.8), (0.3, 0.9)])]
    return "".join(used) + 'DCGM_FI_PROF_DRAM_ACTIVE{gpu="9"} 0.0\n'


def other_gpu_page(text: str) -> str:
    """The GPU of another Pod."""
    del text
    return _gpu(0, "plain", 0.5, 0.6)


def _gpu(number: int, pod: str, tensor: float, dram: float) -> str:
    labels = f'{{gpu="{number}",namespace="inference",pod="{pod}"}}'
    return (
        f"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{labels} {tensor}\n"
        f"DCGM_FI_PROF_DRAM_ACTIVE{labels} {dram}\n"
    )
