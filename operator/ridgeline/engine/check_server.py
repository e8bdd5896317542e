"""The speculative config against the rest of the server: flags, parallelism, memory, traps."""

import re
from collections.abc import Iterator
from typing import Final

from ridgeline.costmodel.cannot_say import CannotSay
from ridgeline.costmodel.memory import GIB
from ridgeline.engine.check_subject import CONFIG_FLAG, Subject, circumstances, key_finding
from ridgeline.engine.contract import DraftSlots, DraftTensorParallel, Trap
from ridgeline.engine.findings import Finding, Severity, shown
from ridgeline.engine.flags import flag_words

_DRAFT_TP: Final = "draft_tensor_parallel_size"
_FEW_TOKENS: Final = 8192
"""Below this many tokens a step, vLLM itself warns that speculation may be slower than without."""

_MIB: Final = 2.0**20
_PARALLEL_DRAFTERS: Final = frozenset({"dflash", "dspark"})
_NEWER_FLAGS: Final = ("-sc", "--spec-method", "--spec-model", "--spec-tokens")
_SPECULATION_ELSEWHERE: Final = re.compile(r"num_speculative_tok|speculative_config")


def check_release(subject: Subject) -> Iterator[Finding]:
    """Yield what the release itself allows."""
    contract = subject.contract
    if not contract.automatic:
        yield Finding(
            check="ReleaseTooOld",
            flag="image",
            value=contract.version,
            consequence="it exports no latency per token, so ridgeline can only recommend",
            fix="use vLLM 0.11 or newer for mode Automatic",
            severity=Severity.WARNING,
        )
    if not contract.verified:
        yield Finding(
            check="ReleaseNotRead",
            flag="image",
            value=contract.version,
            consequence=f"this release was not read: it is judged as {contract.known_as}",
            fix="stay in mode RecommendOnly until it is, or use a release that was read",
            severity=Severity.WARNING,
        )


def check_draft_tensor_parallel(subject: Subject) -> Iterator[Finding]:
    """Yield what the release makes of the drafter's tensor-parallel size."""
    value, whole = subject.keys.get(_DRAFT_TP), subject.served.tensor_parallel
    rule = subject.contract.draft_tensor_parallel.get(subject.method)
    if not isinstance(value, int) or isinstance(value, bool):
        return
    if value not in (1, whole):
        yield _tensor_parallel(
            value, f"only 1 or the target's {whole} is allowed: the start stops", Severity.ERROR
        )
    elif rule is DraftTensorParallel.TARGET and value != whole:
        yield _tensor_parallel(
            value,
            f"{subject.release} runs a draft model only at the target's {whole}: the start stops",
            Severity.ERROR,
        )
    elif rule is DraftTensorParallel.IGNORED and value != whole:
        yield _tensor_parallel(
            value,
            f"the head runs at the target's {whole} all the same",
            Severity.WARNING,
        )


def _tensor_parallel(value: int, consequence: str, severity: Severity) -> Finding:
    return key_finding(
        check="DraftTensorParallel",
        key=_DRAFT_TP,
        value=value,
        consequence=consequence,
        fix="remove it",
        severity=severity,
    )


def slots_per_request(subject: Subject) -> int:
    """Return the slots of a step that drafting takes for one request.

    Read in `max_num_new_slots_for_drafting` of 0.17 to 0.33.
    """
    lookahead = subject.lookahead or 0
    if subject.contract.draft_slots is DraftSlots.NONE:
        return 0
    parallel = subject.keys.get("parallel_drafting") is True or subject.method in _PARALLEL_DRAFTERS
    slots = max(lookahead - 1, 0) if parallel else 0
    return slots + 1 if subject.method == "draft_model" else slots


def check_slots(subject: Subject) -> Iterator[Finding]:
    """Yield that drafts leave too few tokens of a step to schedule."""
    served, rule = subject.served, subject.contract.draft_slots
    tokens = served.max_num_batched_tokens
    if subject.config is None or tokens is None:
        return
    slots = slots_per_request(subject)
    if rule is DraftSlots.PER_REQUEST and slots:
        if served.max_num_seqs is None:
            return  # its default depends on the GPU
        taken = slots * served.max_num_seqs
        how = f"{slots} slots for each of --max-num-seqs {served.max_num_seqs}"
    else:
        taken, how = 0, "every request"
    left = tokens - taken
    stops = left <= 0 or (rule is DraftSlots.ONCE and tokens <= slots)
    if stops:
        yield _few(
            tokens,
            f"{left} tokens are left beside {how}: the start stops or nothing is scheduled",
            f"write more than {taken + slots}, or lower {CONFIG_FLAG} num_speculative_tokens",
            Severity.ERROR,
        )
    elif rule is not DraftSlots.NONE and left < _FEW_TOKENS:
        yield _few(
            tokens,
            f"{left} tokens a step are left to schedule: prefills are cut small, and speculation "
            "may be slower than none even when drafts are accepted",
            f"write {_FEW_TOKENS + taken} or more if memory allows",
            Severity.INFO,
        )


def _few(tokens: int, consequence: str, fix: str, severity: Severity) -> Finding:
    return Finding(
        check="DraftSlots",
        flag="--max-num-batched-tokens",
        value=str(tokens),
        consequence=consequence,
        fix=fix,
        severity=severity,
    )


def check_memory(subject: Subject) -> Iterator[Finding]:
    """Yield that weights and caches of the draft leave too little for requests."""
    room, served = subject.room, subject.served
    share = served.gpu_memory_utilization or subject.contract.default_memory_utilization
    if isinstance(room, CannotSay):
        if room.impossible:
            yield _memory(share, room.reason, room.way_out, Severity.ERROR)
    elif room is not None and room.by_memory and room.draft_bytes > 0:
        yield _memory(
            share,
            f"weights of the draft take {room.draft_bytes / GIB:.1f} GiB and its cache "
            f"{room.draft_kv_bytes / _MIB:.0f} MiB a request: {room.max_concurrency:.0f} fit",
            "raise it if the GPU has room, or choose a smaller draft",
            Severity.WARNING,
        )


def _memory(share: float, consequence: str, fix: str, severity: Severity) -> Finding:
    return Finding(
        check="Memory",
        flag="--gpu-memory-utilization",
        value=f"{share:g}",
        consequence=consequence,
        fix=fix,
        severity=severity,
    )


def check_flags(subject: Subject) -> Iterator[Finding]:
    """Yield flags of speculation that the release has not, and configs that stand elsewhere."""
    words = flag_words(subject.words)
    for index, word in enumerate(words):
        name = word.partition("=")[0].replace("_", "-")
        if name in _NEWER_FLAGS and name not in subject.contract.flags:
            yield Finding(
                check="FlagUnknown",
                flag=name,
                value="",
                consequence=f"{subject.release} has no such flag: the start stops (usage error)",
                fix=f"write {CONFIG_FLAG} with the same as JSON",
                severity=Severity.ERROR,
            )
        following = words[index + 1] if index + 1 < len(words) else ""
        value = word.partition("=")[2] or following
        if name == "--additional-config" and _SPECULATION_ELSEWHERE.search(value):
            yield Finding(
                check="ConfigElsewhere",
                flag=name,
                value=shown(value),
                consequence="vLLM looks for no speculative config there and drafts nothing",
                fix=f"pass it with {CONFIG_FLAG}",
                severity=Severity.ERROR,
            )


def check_traps(subject: Subject) -> Iterator[Finding]:
    """Yield the release's traps that this server is in."""
    if subject.config is None:
        return
    holds = circumstances(subject)
    for trap in subject.contract.traps:
        set_keys = {key for key in trap.keys if subject.keys.get(key) not in (None, False)}
        if (
            trap.when <= holds
            and (not trap.methods or subject.method in trap.methods)
            and (not trap.keys or set_keys)
        ):
            yield _of_trap(subject, trap, set_keys)


def _of_trap(subject: Subject, trap: Trap, keys: set[str]) -> Finding:
    key = min(keys) if keys else "method"
    return key_finding(
        check=trap.name,
        key=key,
        value=subject.keys.get(key),
        consequence=trap.consequence,
        fix=trap.fix,
        severity=trap.severity,
    )
