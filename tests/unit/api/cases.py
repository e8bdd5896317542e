"""Edits of a good serving: what each breaks, and what breaks nothing."""

from typing import Any

from ridgeline.api import cutoff, profiles, spec
from tests.unit.api import engine_setting_cases, schedule_cases
from tests.unit.api.bodies import Case, at, first_profile, profile, profile_list, ranges

(
    NEEDS_DRAFTER,
    NEEDS_LOOKAHEAD,
    NO_MODEL,
    LOOKUP_IS_NGRAM,
    LOOKUP_ORDER,
    _,
    DISABLED_ACCEPTS_NOTHING,
    A_RATE_FOR_EACH_POSITION,
    DISABLED_IS_BARE,
) = profiles.Profile.RULES
(BAND_WAY_UP,) = cutoff.CutoffRange.RULES
ONE_ANSWER, FIXED_NEEDS_NUMBERS, PREDICTED_NUMBERS = cutoff.Cutoff.RULES
(ACTIVE_OF_COUNT,) = spec.Experts.RULES
WINDOW_TOGETHER, EXPERTS_ARE_A_PART = spec.Shape.RULES


def ngram(name: str, **settings: int) -> dict[str, Any]:
    lookup = {"numSpeculativeTokens": 2, "promptLookupMax": 4, "promptLookupMin": 2}
    return {"name": name, "method": "NGram", **lookup, **settings}


NONE = {"name": "none", "method": "Disabled"}
SHAPE = {
    "layers": 32,
    "hiddenSize": 4096,
    "vocabularySize": 128256,
    "parametersMillions": 8030,
    "kvElementsPerToken": 65536,
}
EXPERTS = {"count": 8, "active": 2, "layers": 32, "parametersMillions": 6000}
FIRST = "spec.profiles[0]"
RANGES = "spec.cutoff.ranges"


def injected(mode: str | None, policy: str | None = None) -> Any:
    """Return an edit that sets how a profile reaches the server, and what it may take over."""

    def edit(spec_: dict[str, Any]) -> None:
        del spec_["injection"], spec_["conflictPolicy"]
        if mode is not None:
            spec_["injection"] = {"mode": mode}
        if policy is not None:
            spec_["conflictPolicy"] = policy

    return edit


BROKEN_RULES = (
    *(
        Case(title, injected(mode, policy), "spec.conflictPolicy", spec.ARGS_ARE_FORCED)
        for title, mode, policy in (
            ("arguments without a word on conflicts", "Args", None),
            ("arguments that hold on conflicts", "Args", "Hold"),
            ("a forced item", "Env", "Force"),
            ("force alone", None, "Force"),
        )
    ),
    *schedule_cases.BROKEN,
    *engine_setting_cases.BROKEN,
    *(
        Case(
            f"{method} without model",
            first_profile(profile(method, numSpeculativeTokens=2)),
            FIRST,
            NEEDS_DRAFTER,
        )
        for method in ("Eagle", "Eagle3", "DraftModel")
    ),
    *(
        Case(
            f"{method} without lookahead",
            first_profile(profile(method, model="a/b")),
            FIRST,
            NEEDS_DRAFTER,
        )
        for method in ("Eagle", "Eagle3", "DraftModel")
    ),
    Case("NGram without lookahead", first_profile(profile("NGram")), FIRST, NEEDS_LOOKAHEAD),
    Case("MTP without lookahead", first_profile(profile("MTP")), FIRST, NEEDS_LOOKAHEAD),
    Case(
        "NGram with model",
        first_profile(profile("NGram", model="a/b", numSpeculativeTokens=2)),
        f"{FIRST}.model",
        NO_MODEL,
    ),
    Case(
        "Suffix with model",
        first_profile(profile("Suffix", model="a/b")),
        f"{FIRST}.model",
        NO_MODEL,
    ),
    Case(
        "MTP with lookup max",
        first_profile(profile("MTP", numSpeculativeTokens=2, promptLookupMax=3)),
        FIRST,
        LOOKUP_IS_NGRAM,
    ),
    Case(
        "Suffix with lookup min",
        first_profile(profile("Suffix", promptLookupMin=3)),
        FIRST,
        LOOKUP_IS_NGRAM,
    ),
    Case(
        "lookup turned round",
        first_profile(
            profile("NGram", numSpeculativeTokens=2, promptLookupMin=4, promptLookupMax=3)
        ),
        f"{FIRST}.promptLookupMin",
        LOOKUP_ORDER,
    ),
    *(
        Case(
            f"Disabled with {key}",
            at("profiles", 2, key, value=value),
            "spec.profiles[2]",
            DISABLED_IS_BARE,
        )
        for key, value in (
            ("model", "a/b"),
            ("numSpeculativeTokens", 2),
            ("promptLookupMax", 2),
            ("promptLookupMin", 2),
        )
    ),
    Case(
        "no Disabled",
        profile_list(profile("MTP", numSpeculativeTokens=1)),
        "spec.profiles",
        profiles.EXACTLY_ONE_DISABLED,
    ),
    Case(
        "Disabled in place of all",
        profile_list(profile("MTP", numSpeculativeTokens=1), profile("Suffix") | {"name": "q"}),
        "spec.profiles",
        profiles.EXACTLY_ONE_DISABLED,
    ),
    Case(
        "identical but for the name",
        profile_list(
            profile("MTP", numSpeculativeTokens=1),
            profile("MTP", numSpeculativeTokens=1) | {"name": "q"},
            NONE,
        ),
        "spec.profiles",
        profiles.NO_IDENTICAL_PROFILES,
    ),
    Case(
        "identical in every setting",
        profile_list(
            *(
                {
                    "name": name,
                    "method": "NGram",
                    "numSpeculativeTokens": 4,
                    "promptLookupMax": 3,
                    "promptLookupMin": 2,
                }
                for name in ("p", "q")
            ),
            NONE,
        ),
        "spec.profiles",
        profiles.NO_IDENTICAL_PROFILES,
    ),
    Case(
        "unknown profile in a range",
        ranges(("eagle9", 20, 16), ("none",)),
        RANGES,
        spec.RANGES_NAME_PROFILES,
    ),
    Case(
        "last range closed",
        ranges(("eagle", 20, 16), ("none", 40)),
        RANGES,
        cutoff.ONLY_THE_LAST_IS_OPEN,
    ),
    Case("first range open", ranges(("eagle",), ("none",)), RANGES, cutoff.ONLY_THE_LAST_IS_OPEN),
    Case(
        "open range not the last",
        ranges(("eagle",), ("none", 40)),
        RANGES,
        cutoff.ONLY_THE_LAST_IS_OPEN,
    ),
    Case("one closed range", ranges(("none", 40)), RANGES, cutoff.ONLY_THE_LAST_IS_OPEN),
    Case(
        "profile in two ranges",
        ranges(("eagle", 20, 16), ("eagle", 40, 30), ("none",)),
        RANGES,
        cutoff.A_PROFILE_STANDS_ONCE,
    ),
    Case(
        "band turned round",
        ranges(("eagle", 20, 21), ("none",)),
        f"{RANGES}[0].returnBelowConcurrency",
        BAND_WAY_UP,
    ),
    Case(
        "band without a border",
        ranges(("eagle", 20, 16), ("none", None, 30)),
        f"{RANGES}[1].returnBelowConcurrency",
        BAND_WAY_UP,
    ),
    Case(
        "bands overlap",
        ranges(("eagle", 20, 16), ("ngram", 40, 20), ("none",)),
        RANGES,
        cutoff.BANDS_DO_NOT_OVERLAP,
    ),
    Case(
        "Fixed without numbers",
        at("cutoff", value={"strategy": "Fixed"}),
        "spec.cutoff.strategy",
        FIXED_NEEDS_NUMBERS,
    ),
    Case(
        "acceptance of Disabled",
        at("profiles", 2, "acceptancePercent", value=[50]),
        "spec.profiles[2].acceptancePercent",
        DISABLED_ACCEPTS_NOTHING,
    ),
    Case(
        "acceptance of too few positions",
        at("profiles", 0, "acceptancePercent", value=[70, 50]),
        f"{FIRST}.acceptancePercent",
        A_RATE_FOR_EACH_POSITION,
    ),
    Case(
        "acceptance that rises",
        at("profiles", 0, "acceptancePercent", value=[70, 50, 60, 20]),
        f"{FIRST}.acceptancePercent",
        profiles.RATES_FALL,
    ),
    Case(
        "more experts active than there are",
        at("model", value={"shape": {**SHAPE, "experts": {**EXPERTS, "active": 9}}}),
        "spec.model.shape.experts.active",
        ACTIVE_OF_COUNT,
    ),
    Case(
        "a window without its cache",
        at("model", value={"shape": {**SHAPE, "windowTokens": 4096}}),
        "spec.model.shape",
        WINDOW_TOGETHER,
    ),
    Case(
        "experts as large as the model",
        at("model", value={"shape": {**SHAPE, "experts": {**EXPERTS, "parametersMillions": 8030}}}),
        "spec.model.shape.experts.parametersMillions",
        EXPERTS_ARE_A_PART,
    ),
    Case(
        "Goodput with a preset",
        at("cutoff", value={"strategy": "Goodput", "preset": "h100-bf16"}),
        "spec.cutoff.strategy",
        PREDICTED_NUMBERS,
    ),
    Case(
        "Ridge with a preset",
        at("cutoff", value={"strategy": "Ridge", "preset": "h100-bf16"}),
        "spec.cutoff.strategy",
        PREDICTED_NUMBERS,
    ),
    Case(
        "Ridge with ranges",
        at("cutoff", "strategy", value="Ridge"),
        "spec.cutoff.strategy",
        PREDICTED_NUMBERS,
    ),
    Case(
        "a preset beside ranges",
        at("cutoff", "preset", value="h100-bf16"),
        "spec.cutoff.preset",
        ONE_ANSWER,
    ),
    Case(
        "bands overlap by default",
        ranges(("eagle", 20, 16), ("ngram", 26), ("none",)),
        RANGES,
        cutoff.BANDS_DO_NOT_OVERLAP,
    ),
)
"""Each breaks one rule and no other."""

TWO_DISABLED = Case(
    "two Disabled",
    profile_list(NONE, {"name": "off", "method": "Disabled"}),
    "spec.profiles",
    profiles.EXACTLY_ONE_DISABLED,
)
"""They are identical as well, so this breaks two rules."""

CUTOFFS_FALL = (
    Case(
        "cut-offs fall",
        ranges(("eagle", 40, 30), ("ngram", 20, 16), ("none",)),
        RANGES,
        cutoff.CUTOFFS_RISE,
    ),
    Case(
        "cut-offs stay",
        ranges(("eagle", 40, 30), ("ngram", 40, 40), ("none",)),
        RANGES,
        cutoff.CUTOFFS_RISE,
    ),
)
"""Cut-offs that do not rise have bands that overlap, so these break two rules."""

KEPT_RULES = (
    *schedule_cases.KEPT,
    *engine_setting_cases.KEPT,
    Case("as it stands", lambda _: None),
    Case("forced arguments", injected("Args", "Force")),
    Case("an item that holds on conflicts", injected("Env", "Hold")),
    Case("nothing said of injection", injected(None)),
    Case("without a cut-off", lambda spec_: spec_.pop("cutoff")),
    Case("an empty cut-off", at("cutoff", value={})),
    Case("Ridge", at("cutoff", value={"strategy": "Ridge"})),
    Case("Goodput", at("cutoff", value={"strategy": "Goodput"})),
    Case("stated acceptance", at("profiles", 0, "acceptancePercent", value=[100, 70, 70, 0])),
    Case("a model by name", at("model", value={"name": "meta-llama/Llama-3.1-8B-Instruct"})),
    Case("a model by shape", at("model", value={"shape": SHAPE})),
    Case("a model with experts", at("model", value={"shape": {**SHAPE, "experts": EXPERTS}})),
    Case(
        "a model with a window",
        at(
            "model",
            value={"shape": {**SHAPE, "windowTokens": 512, "windowedKvElementsPerToken": 9}},
        ),
    ),
    Case("a preset", at("cutoff", value={"preset": "h100-bf16"})),
    Case("a Fixed preset", at("cutoff", value={"strategy": "Fixed", "preset": "h100-fp8"})),
    Case("ranges without a strategy", lambda spec_: spec_["cutoff"].pop("strategy")),
    Case("a model that says nothing", at("model", value={})),
    Case("one range", ranges(("none",))),
    Case("default band", ranges(("eagle", 20), ("ngram", 27), ("none",))),
    Case("band without width", ranges(("eagle", 20, 20), ("ngram", 21, 21), ("none",))),
    Case("lowest cut-off", ranges(("eagle", 1), ("none",))),
    Case(
        "MTP with its own model", first_profile(profile("MTP", numSpeculativeTokens=1, model="a/b"))
    ),
    Case("Suffix bare", first_profile(profile("Suffix"))),
    Case("Suffix with lookahead", first_profile(profile("Suffix", numSpeculativeTokens=32))),
    Case(
        "NGram with one lookup",
        first_profile(profile("NGram", numSpeculativeTokens=2, promptLookupMin=4)),
    ),
    Case(
        "NGram with equal lookups",
        first_profile(
            profile("NGram", numSpeculativeTokens=2, promptLookupMin=4, promptLookupMax=4)
        ),
    ),
    Case("model as a path", at("profiles", 0, "model", value="/models/head-v2")),
    Case("model as a URI", at("profiles", 0, "model", value="s3://bucket/head@v2")),
    Case(
        "another lookahead of one head",
        profile_list(
            *(
                profile("Eagle", model="a/b", numSpeculativeTokens=k) | {"name": f"k{k}"}
                for k in range(1, 8)
            ),
            NONE,
        ),
    ),
    Case(
        "profiles that differ in one setting",
        profile_list(
            ngram("a"),
            ngram("b", numSpeculativeTokens=3),
            ngram("c", promptLookupMax=5),
            ngram("d", promptLookupMin=1),
            {"name": "e", "method": "MTP", "numSpeculativeTokens": 2, "model": "a/b"},
            {"name": "f", "method": "MTP", "numSpeculativeTokens": 2, "model": "a/c"},
            {"name": "g", "method": "MTP", "numSpeculativeTokens": 2},
            NONE,
        ),
    ),
    Case(
        "eight ranges",
        lambda spec_: spec_.update(
            profiles=[
                profile("MTP", numSpeculativeTokens=k) | {"name": f"k{k}"} for k in range(1, 8)
            ]
            + [NONE],
            cutoff={
                "ranges": [
                    {"profile": f"k{k}", "upToConcurrency": 2**k, "returnBelowConcurrency": 2**k}
                    for k in range(1, 8)
                ]
                + [{"profile": "none"}]
            },
        ),
    ),
)

LAST_OF_EIGHT_FALLS = Case(
    "the seventh cut-off falls",
    lambda spec_: spec_.update(
        profiles=[profile("MTP", numSpeculativeTokens=k) | {"name": f"k{k}"} for k in range(1, 8)]
        + [NONE],
        cutoff={
            "ranges": [
                {"profile": f"k{k}", "upToConcurrency": up, "returnBelowConcurrency": up}
                for k, up in zip(range(1, 8), (2, 4, 8, 16, 32, 64, 63), strict=True)
            ]
            + [{"profile": "none"}]
        },
    ),
    RANGES,
    cutoff.CUTOFFS_RISE,
)

OUT_OF_BOUNDS = (
    *schedule_cases.OUT_OF_BOUNDS,
    *engine_setting_cases.OUT_OF_BOUNDS,
    *(
        Case(
            f"lookahead {k}",
            at("profiles", 0, "numSpeculativeTokens", value=k),
            f"{FIRST}.numSpeculativeTokens",
        )
        for k in (0, 33, "4", 2.5)
    ),
    Case(
        "lookup 0",
        at("profiles", 1, "promptLookupMax", value=0),
        "spec.profiles[1].promptLookupMax",
    ),
    Case(
        "cut-off 0",
        at("cutoff", "ranges", 0, "upToConcurrency", value=0),
        f"{RANGES}[0].upToConcurrency",
    ),
    Case(
        "cut-off too high",
        at("cutoff", "ranges", 1, "upToConcurrency", value=100_001),
        f"{RANGES}[1].upToConcurrency",
    ),
    Case(
        "dwell below 0",
        at("stabilization", "busierSeconds", value=-1),
        "spec.stabilization.busierSeconds",
    ),
    Case(
        "dwell of two days",
        at("stabilization", "quieterSeconds", value=172_800),
        "spec.stabilization.quieterSeconds",
    ),
    Case("cooldown too long", at("cooldownSeconds", value=604_801), "spec.cooldownSeconds"),
    Case("no switches", at("maxSwitchesPerDay", value=0), "spec.maxSwitchesPerDay"),
    Case("too many switches", at("maxSwitchesPerDay", value=11), "spec.maxSwitchesPerDay"),
    Case("unknown mode", at("mode", value="Auto"), "spec.mode"),
    Case("unknown method", at("profiles", 0, "method", value="Medusa"), f"{FIRST}.method"),
    Case("unknown strategy", at("cutoff", "strategy", value="Guess"), "spec.cutoff.strategy"),
    Case("preset by number", at("cutoff", "preset", value=20), "spec.cutoff.preset"),
    Case("precision in lower case", at("model", "precision", value="bf16"), "spec.model.precision"),
    Case("accelerator as a label", at("accelerator", value="NVIDIA-L4"), "spec.accelerator"),
    Case("policy of a namespace", at("policyRef", "name", value="a/b"), "spec.policyRef.name"),
    Case("policy without a name", at("policyRef", value={}), "spec.policyRef.name"),
    Case("unknown injection", at("injection", "mode", value="Flag"), "spec.injection.mode"),
    Case("suspend as a word", at("suspend", value="yes"), "spec.suspend"),
    Case(
        "target of another kind",
        at("targetRef", "kind", value="StatefulSet"),
        "spec.targetRef.kind",
    ),
    Case(
        "target of another version",
        at("targetRef", "apiVersion", value="apps/v2"),
        "spec.targetRef.apiVersion",
    ),
    Case("target name", at("targetRef", "name", value="Llama_8B"), "spec.targetRef.name"),
    Case(
        "container name",
        at("targetRef", "containerName", value="a.b"),
        "spec.targetRef.containerName",
    ),
    Case("profile name", at("profiles", 0, "name", value="EAGLE"), f"{FIRST}.name"),
    Case("profile name too long", at("profiles", 0, "name", value="e" * 64), f"{FIRST}.name"),
    Case("telemetry name", at("telemetry", value="http://prometheus:9090"), "spec.telemetry"),
    Case(
        "model that expands a variable",
        at("profiles", 0, "model", value="a/$(HF_TOKEN)"),
        f"{FIRST}.model",
    ),
    Case(
        "model that looks like a flag",
        at("profiles", 0, "model", value="--trust-remote-code"),
        f"{FIRST}.model",
    ),
    Case("model on two lines", at("profiles", 0, "model", value="a/b\n"), f"{FIRST}.model"),
    Case("no profiles", at("profiles", value=[]), "spec.profiles"),
    Case(
        "nine profiles",
        profile_list(
            *({"name": f"k{k}", "method": "MTP", "numSpeculativeTokens": k} for k in range(1, 9)),
            NONE,
        ),
        "spec.profiles",
    ),
    Case(
        "acceptance beyond 100 per cent",
        at("profiles", 0, "acceptancePercent", value=[101, 50, 50, 20]),
        f"{FIRST}.acceptancePercent[0]",
    ),
    Case(
        "a model without layers",
        at("model", value={"shape": {**SHAPE, "layers": 0}}),
        "spec.model.shape.layers",
    ),
    Case("no ranges", at("cutoff", "ranges", value=[]), RANGES),
    Case("no target", lambda spec_: spec_.pop("targetRef"), "spec.targetRef"),
    Case("no target name", lambda spec_: spec_["targetRef"].pop("name"), "spec.targetRef.name"),
    Case("a method missing", lambda spec_: spec_["profiles"][0].pop("method"), f"{FIRST}.method"),
)
"""Each leaves the schema, without any rule."""

SAME_NAME = Case(
    "two profiles of one name",
    profile_list(profile("MTP", numSpeculativeTokens=1), profile("Suffix"), NONE),
    "spec.profiles",
)
"""Refused by the list type of the schema."""
