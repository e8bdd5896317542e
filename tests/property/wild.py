"""Strategies for facts, settings and memory, as wild as the types allow."""

from hypothesis import strategies as st

from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy.facts import (
    EngineFacts,
    Facts,
    Problem,
    ReplicaFacts,
    RolloutFacts,
    TargetFacts,
    TelemetryFacts,
)
from ridgeline.policy.memory import Crossing, FastMemory, Memory, SlowMemory, Switch
from ridgeline.policy.settings import PolicySettings, Stabilization
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import Mode
from ridgeline.terms.reasons import Reason

NOW = 1_800_000_000.0
NAMES = ("draft-1b", "eagle2", "none", "stranger")
METHODS = {"draft-1b": Method.DRAFT_MODEL, "eagle2": Method.EAGLE, "none": Method.DISABLED}

anything = st.floats(allow_nan=True, allow_infinity=True)
plausible = st.floats(min_value=0.0, max_value=200.0)
maybe = st.one_of(st.none(), plausible, anything)
ages = st.one_of(st.floats(min_value=0.0, max_value=90.0), anything)
problems = st.builds(
    Problem,
    reason=st.sampled_from(
        [Reason.TARGET_NOT_FOUND, Reason.ACCELERATOR_UNKNOWN, Reason.SPEC_INVALID]
    ),
    message=st.text(min_size=1, max_size=5),
)
profiles = st.one_of(st.none(), st.sampled_from(NAMES))
moments = st.floats(min_value=NOW - 2e5, max_value=NOW + 2e3)
signals = st.lists(st.sampled_from(["decode_concurrency", "drafts", "tpot_p99"]), max_size=2)

engines = st.builds(
    EngineFacts,
    engine=st.sampled_from(["0", "1", "2"]),
    age_seconds=ages,
    decode_concurrency=st.one_of(plausible, plausible, maybe),
    steps_per_second=maybe,
    request_steps_per_second=maybe,
    generated_tokens_per_second=maybe,
    acceptance_length=maybe,
    tpot_seconds=maybe,
    drafts_per_second=st.one_of(st.none(), st.just(0.0), maybe),
    running=maybe,
    not_finite=st.one_of(st.just(()), signals.map(tuple)),
)
replicas = st.builds(
    ReplicaFacts,
    name=st.sampled_from([f"pod-{n}" for n in range(9)]),
    ready_seconds=st.one_of(st.floats(min_value=0.0, max_value=900.0), anything),
    profile=profiles,
    engines=st.lists(engines, max_size=3).map(tuple),
    expected_engines=st.integers(min_value=1, max_value=3),
)
rollouts = st.builds(
    RolloutFacts,
    updated=st.integers(0, 9),
    available=st.integers(0, 9),
    desired=st.integers(0, 9),
    paused=st.booleans(),
    deadline_exceeded=st.booleans(),
)
targets = st.builds(
    TargetFacts,
    uid=st.just("uid-1"),
    desired_replicas=st.integers(0, 9),
    active_profile=profiles,
    active_config=st.text(max_size=5),
    rollout=st.one_of(st.none(), st.none(), rollouts),
)
telemetries = st.builds(
    TelemetryFacts,
    endpoint=st.just("default"),
    window_seconds=st.sampled_from([60.0, 120.0]),
    stale_after_seconds=st.sampled_from([30.0, 60.0]),
    error=st.one_of(st.none(), st.none(), st.none(), st.text(max_size=3)),
    answered_at=st.one_of(st.just(NOW), st.none(), moments),
    warnings=st.lists(st.text(max_size=3), max_size=1).map(tuple),
)
all_facts = st.builds(
    Facts,
    target=st.one_of(targets, targets, targets, problems),
    replicas=st.lists(replicas, max_size=6).map(tuple),
    telemetry=st.one_of(telemetries, telemetries, telemetries, problems),
)


@st.composite
def tables(draw: st.DrawFn) -> CutoffTable:
    """Tables of one to three rows."""
    names = draw(st.permutations(["draft-1b", "eagle2", "none"]))
    names = names[: draw(st.integers(1, 3))]
    rows, previous = [], 0.0
    for name in names[:-1]:
        lower = previous + draw(st.floats(min_value=0.5, max_value=20.0))
        upper = lower + draw(st.floats(min_value=0.0, max_value=20.0))
        rows.append(CutoffRow(profile=name, up_to=upper, return_below=lower))
        previous = upper
    return CutoffTable((*rows, CutoffRow(profile=names[-1])))


all_settings = st.builds(
    PolicySettings,
    mode=st.sampled_from([Mode.AUTOMATIC, Mode.AUTOMATIC, Mode.RECOMMEND_ONLY]),
    suspended=st.sampled_from([False, False, False, True]),
    methods=st.one_of(
        st.just(METHODS),
        st.just(METHODS),
        st.dictionaries(st.sampled_from(list(METHODS)), st.sampled_from(Method), min_size=2),
    ),
    cutoff=st.one_of(tables(), tables(), tables(), problems),
    stabilization=st.builds(
        Stabilization, busier_seconds=st.floats(0.0, 900.0), quieter_seconds=st.floats(0.0, 900.0)
    ),
    cooldown_seconds=st.floats(0.0, 7200.0),
    max_switches_per_day=st.integers(0, 12),
)
switches = st.builds(
    Switch,
    started_at=moments,
    finished_at=st.one_of(moments, moments, moments, st.none()),
    from_profile=profiles,
    to_profile=st.sampled_from(NAMES),
    reason=st.sampled_from([Reason.ABOVE_CUTOFF, Reason.BELOW_CUTOFF]),
)
memories = st.builds(
    Memory,
    slow=st.builds(SlowMemory, switches=st.lists(switches, max_size=10).map(tuple)),
    fast=st.builds(
        FastMemory,
        crossing=st.one_of(
            st.none(), st.builds(Crossing, towards=st.sampled_from(NAMES), since=moments)
        ),
    ),
)
