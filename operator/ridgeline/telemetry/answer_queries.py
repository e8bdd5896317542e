"""The queries of every fifth tick about how answers end and how long they take."""

from typing import Final

from ridgeline.telemetry.named_query import ENGINE_LABEL, REASON_LABEL, Cadence, NamedQuery
from ridgeline.telemetry.promql import E2E, NOW, RATE, beyond_all_bounds, longest

_SUCCESS: Final = "vllm:request_success_total"

ANSWER_QUERIES: Final = (
    NamedQuery(
        name="finished",
        template=f"max by ($by, {REASON_LABEL}) (rate({_SUCCESS}{{$matchers}}[$window]))",
        parameters=RATE,
        unit="requests/second",
        description="Requests per second that finished, by the reason why they did.",
        why=(
            "A canary whose answers end for another reason gives another text, however fast it is. "
            "The same name and label in every version."
        ),
        trap=(
            "Only requests that finished count: a young replica first tells of its shortest "
            "answers, and how often a reason occurs is then biased. Newer versions know more "
            "reasons: compare shares, and take a missing one for none. Per engine, at most eight "
            "reasons of at most 32 characters are told apart; others are summed as `other`."
        ),
        fallback="Unknown: answers cannot be compared by how they end.",
        cadence=Cadence.SLOW,
        labels=(ENGINE_LABEL, REASON_LABEL),
    ),
    NamedQuery(
        name="longest_answer",
        template=longest(E2E),
        parameters=NOW,
        unit="seconds",
        description=(
            "Upper bound of the time, from arrival to end, of the longest request that finished in "
            "the last hour."
        ),
        why=(
            "What a drain must outlast. The highest bucket that is not empty and no quantile: the "
            "longer a request the likelier it is running when a Pod goes, so one in a thousand may "
            "be half of what a drain meets. From two samples of each bucket, an hour apart: a "
            "range over an hour would decode hundreds."
        ),
        trap=(
            "Survivors' bias: a stream that is still running does not count, so after a start only "
            "short answers have finished; compare with replicas that are older. It resolves no "
            "finer than the buckets. Of a server that started, or was first scraped, within the "
            "hour it is the longest since its start; where a sample of an hour ago is missing too."
        ),
        fallback="Unknown, as when no request finished: a drain cannot be compared with anything.",
        cadence=Cadence.SLOW,
    ),
    NamedQuery(
        name="longest_answer_beyond",
        template=beyond_all_bounds(E2E),
        parameters=("by", "matchers", "more_matchers"),
        unit="requests",
        description="Requests of the last hour that took longer than any bound of the histogram.",
        why=(
            "Tells an upper bound from a lower one: longest_answer is the highest bound in both "
            "cases. Bounds are the server's to choose (vLLM 0.32 on) and relabelling may drop some."
        ),
        trap="How much longer than the highest bound they took is not known.",
        fallback="The longest answer is unknown too: a bound that may be none is not told.",
        cadence=Cadence.SLOW,
    ),
)
