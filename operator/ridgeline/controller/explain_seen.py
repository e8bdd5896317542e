"""What a person's rights reach of one serving: the same look as a pass of the operator takes."""

from dataclasses import dataclass, field
from typing import Any, Final

from ridgeline.api.errors import InvalidServing
from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.listing import list_within_reach
from ridgeline.cluster.look import LookApi
from ridgeline.cluster.objects import ServingObject, trim_serving
from ridgeline.cluster.store import WatchStore
from ridgeline.cluster.surroundings import Surroundings
from ridgeline.controller.basis import Knowledge
from ridgeline.controller.explain_live import Live
from ridgeline.controller.explain_operator import OperatorPlace, ask_operator, lease_of
from ridgeline.controller.explain_reach import events_within_reach, nodes_of_status
from ridgeline.controller.explain_state import LeaseSeen, Traces, traces_of
from ridgeline.controller.options import Options
from ridgeline.controller.ports import TelemetrySource
from ridgeline.controller.view import View, look, spec_of
from ridgeline.policy.facts import Problem
from ridgeline.policy.law.memory import LawMemory
from ridgeline.policy.law_status import law_memory_of
from ridgeline.policy.memory import Memory
from ridgeline.telemetry.snapshot import TelemetrySnapshot
from ridgeline.terms.reasons import Reason

STALE_AFTER_SECONDS: Final = 60.0
"""As the operator's default; explaining decides nothing."""

NOT_ASKED: Final = "not asked for: name a Prometheus with --prometheus URL to compare live numbers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a person's rights reach of one serving.

    Attributes:
        serving: The serving with its status.
        events: Its Events, oldest first.
        view: What a pass of the operator would know, or why the spec cannot be read.
        snapshot: The numbers read for it, `None` when no Prometheus was named.
        out_of_reach: Kinds that the person may not list, by their plural names.
        traces: What the object's metadata tells of its life.
        lease: The operator's Lease, where it was looked for and is in reach.
        live: The operator's own answer, where it was asked and came.
        without: Why it did not come, where it was asked.
        looked_at: Epoch seconds of the look; `None` for the moment of the view.
    """

    serving: ServingObject
    events: tuple[dict[str, Any], ...]
    view: View | InvalidServing
    snapshot: TelemetrySnapshot | None
    out_of_reach: tuple[str, ...] = ()
    traces: Traces = field(default_factory=Traces)
    lease: LeaseSeen | None = None
    live: Live | None = None
    without: str | None = None
    looked_at: float | None = None

    @property
    def now(self) -> float:
        """Epoch seconds of the look."""
        if self.looked_at is not None:
            return self.looked_at
        return self.serving.created_at if isinstance(self.view, InvalidServing) else self.view.now

    @property
    def counts(self) -> bool:
        """Whether the operator's own answer is about the serving as it is now."""
        return self.live is not None and self.live.knows(self.serving)


async def see(
    api: KubernetesApi,
    namespace: str,
    name: str,
    telemetry: TelemetrySource | None,
    now: float,
    operator: OperatorPlace | None = None,
) -> Seen:
    """Look at one serving as a pass of the operator does.

    Args:
        api: The API server, with the person's credentials.
        namespace: The serving's namespace.
        name: Its name.
        telemetry: Where to read live numbers; `None` when the person named no Prometheus.
        now: Epoch seconds.
        operator: Where to ask the operator itself; `None` to leave it alone.

    Raises:
        NotFoundError: There is no such serving.
        ClusterError: The API server refuses, or does not answer.
    """
    looking = LookApi(api)
    body = await looking.serving_body(namespace, name)
    serving = trim_serving(body)
    events, missing = await events_within_reach(looking, serving)
    store, around = WatchStore(), Surroundings(sees_all_pods=False)
    missing = (*await list_within_reach(api, store, namespace, around), *missing)
    nodes_of_status(store, serving, around)
    snapshot = await telemetry.read(now) if telemetry is not None else None
    view: View | InvalidServing
    try:
        view = view_of(store, serving, around, snapshot, now)
    except InvalidServing as error:
        view = error
    answer = await ask_operator(api, operator, serving) if operator is not None else None
    live = answer if isinstance(answer, Live) else None
    lease = None
    if operator is not None and live is None:
        lease = await lease_of(api, operator, now)
    return Seen(
        serving=serving,
        events=events,
        view=view,
        snapshot=snapshot,
        out_of_reach=missing,
        traces=traces_of(body),
        lease=lease,
        live=live,
        without=answer if isinstance(answer, str) else None,
        looked_at=now,
    )


def view_of(
    store: WatchStore,
    serving: ServingObject,
    around: Surroundings,
    snapshot: TelemetrySnapshot | None,
    now: float,
) -> View:
    """Return what a pass would know of a serving, with the memory that its status holds.

    Raises:
        InvalidServing: A field of its spec holds what it must not.
    """
    return look(
        store,
        serving,
        spec_of(serving),
        lambda _: snapshot or Problem(reason=Reason.TELEMETRY_UNAVAILABLE, message=NOT_ASKED),
        Knowledge(around),
        remembered=Memory(law=LawMemory(slow=law_memory_of(serving.status))),
        options=Options(stale_after_seconds=STALE_AFTER_SECONDS, max_concurrent_rolls=1),
        now=now,
    ).with_roll_moved_on()
