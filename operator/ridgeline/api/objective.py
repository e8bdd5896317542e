"""What a serving's users need: a limit on the time per token, and what counts beside it."""

from typing import Annotated, Final

from pydantic import Field, StrictInt

from ridgeline.api.fields import UNSET_MEANS, ApiModel, resolved, when_not_set
from ridgeline.terms.objective import Preference

PREFER: Final = Preference.LATENCY
"""What counts where nobody says: capacity is kept for a peak only where the week's peak needs it
(in simulation, insuring a fleet whose peak stays low cost 27 to 32 per cent of its latency)."""

NO_LIMIT: Final = "no limit"

Milliseconds = Annotated[StrictInt, Field(ge=1, le=60_000, json_schema_extra={"format": "int32"})]


class Objective(ApiModel):
    """What decides between profiles, the limit first."""

    p99_tpot_milliseconds: Milliseconds | None = Field(
        default=None,
        alias="p99TPOTMilliseconds",
        description="Limit in milliseconds on the time per output token (TPOT, a mean over each "
        "request) that 99 % of the requests are to keep. It is never compared with vLLM's "
        "inter-token latency, which is per request-step." + when_not_set(NO_LIMIT),
        json_schema_extra={UNSET_MEANS: NO_LIMIT},
    )
    prefer: Preference | None = resolved(
        "What counts among profiles that keep the limit. Latency, the time per output token: "
        "speculate as long as the peak of the week allows it. Throughput, tokens per second of the "
        "fleet: always leave speculation before a peak could need the capacity. It concerns the "
        "Goodput strategy.",
        unset_means=PREFER,
    )
