"""The profiles of a serving: named speculation settings, and what each method needs."""

from itertools import pairwise
from typing import Annotated, ClassVar, Final

from pydantic import Field

from ridgeline.api.engine_settings import (
    ExtraKeys,
    LookaheadSchedule,
    schedule_above,
)
from ridgeline.api.fields import (
    AcceptancePercent,
    ApiModel,
    DnsLabel,
    Lookahead,
    ModelReference,
    PromptLookup,
)
from ridgeline.api.rules import AtomicList, ListMap, Rule
from ridgeline.terms.methods import Method

MAX_PROFILES: Final = 8
MAX_LOOKAHEAD: Final = 32

_WITH_DRAFTER: Final = frozenset({Method.EAGLE, Method.EAGLE3, Method.DRAFT_MODEL})
_WITH_LOOKAHEAD: Final = frozenset({Method.NGRAM, Method.MTP})
_WITHOUT_MODEL: Final = frozenset({Method.NGRAM, Method.SUFFIX})


def _rate_that_rises(rates: tuple[int, ...]) -> int | None:
    return next((after for before, after in pairwise(rates) if after > before), None)


RATES_FALL: Final = Rule[tuple[int, ...]](
    cel=f"{list(range(1, MAX_LOOKAHEAD))}.all(i, i >= size(self) || self[i] <= self[i - 1])",
    message="list how many drafts are accepted up to each position: a later one is never above "
    "the one before",
    offence=_rate_that_rises,
)

AcceptanceRates = Annotated[
    tuple[AcceptancePercent, ...],
    Field(min_length=1, max_length=MAX_LOOKAHEAD),
    AtomicList(),
    RATES_FALL,
]


class Profile(ApiModel):
    """A named speculation setting; it sets the server's speculative config and nothing else."""

    name: DnsLabel = Field(
        description="Name of the profile, a DNS label; it is also the value of the Pod label "
        "ridgeline.dev/profile."
    )
    method: Method = Field(
        description="How draft tokens are made. Eagle serves EAGLE and EAGLE-2 heads, Eagle3 the "
        "EAGLE-3 ones; Disabled makes none."
    )
    model: ModelReference | None = Field(
        default=None,
        description="Weights of the drafter: a Hugging Face id, a path in the container or a URI. "
        "Needed by Eagle, Eagle3 and DraftModel; MTP uses the served model's own layers unless it "
        "is set.",
    )
    num_speculative_tokens: Lookahead | None = Field(
        default=None,
        description="Lookahead K: draft tokens per engine step. Needed by every method but Suffix, "
        "which then takes vLLM's own default, and Disabled.",
    )
    prompt_lookup_max: PromptLookup | None = Field(
        default=None,
        description="Longest n-gram that NGram looks up in the prompt, in tokens. When not set, "
        "vLLM's rule holds: as promptLookupMin, or its default if neither is set.",
    )
    prompt_lookup_min: PromptLookup | None = Field(
        default=None,
        description="Shortest n-gram that NGram looks up in the prompt, in tokens. When not set, "
        "vLLM's rule holds: as promptLookupMax, or its default if neither is set.",
    )

    schedule: LookaheadSchedule | None = Field(
        default=None,
        description="Lookahead by the number of requests in a step, which the engine looks up at "
        "every step (num_speculative_tokens_per_batch_size: vLLM 0.24 and newer, one engine per "
        "Pod, not every method). When not set, every step drafts numSpeculativeTokens. `ridgeline "
        "advise` computes one.",
    )
    extra: ExtraKeys | None = Field(
        default=None,
        description="Further keys of vLLM's speculative config with their values as texts, such as "
        'draft_tensor_parallel_size: "1"; what reads as a number or as true or false is written as '
        "such. Keys that the release does not know, that load code or that change answers are "
        "refused before a roll.",
    )
    acceptance_percent: AcceptanceRates | None = Field(
        default=None,
        description="Share of drafts, in per cent, of which the first token, the first two tokens "
        "and so on are accepted, as somebody measured it with requests like these. The Goodput "
        "strategy uses it until telemetry of this serving tells; without either, it never switches "
        "to the profile by itself. It changes nothing in the server.",
    )

    @property
    def configuration(self) -> tuple[object, ...]:
        """Everything but the name: profiles that agree in it run the same server."""
        return (
            self.method,
            self.model,
            self.num_speculative_tokens,
            self.prompt_lookup_max,
            self.prompt_lookup_min,
            self.schedule,
            self.extra,
        )

    @property
    def takes_settings(self) -> bool:
        """Whether any setting of the drafter is given."""
        return any(setting is not None for setting in self.configuration[1:])

    RULES: ClassVar = (
        Rule["Profile"](
            cel="!(self.method in ['Eagle', 'Eagle3', 'DraftModel']) || "
            "(has(self.model) && has(self.numSpeculativeTokens))",
            message="Eagle, Eagle3 and DraftModel need a drafter: set model and "
            "numSpeculativeTokens",
            offence=lambda profile: (
                profile.name
                if profile.method in _WITH_DRAFTER
                and (profile.model is None or profile.num_speculative_tokens is None)
                else None
            ),
        ),
        Rule["Profile"](
            cel="!(self.method in ['NGram', 'MTP']) || has(self.numSpeculativeTokens)",
            message="NGram and MTP need a lookahead: set numSpeculativeTokens",
            offence=lambda profile: (
                profile.name
                if profile.method in _WITH_LOOKAHEAD and profile.num_speculative_tokens is None
                else None
            ),
        ),
        Rule["Profile"](
            cel="!(self.method in ['NGram', 'Suffix']) || !has(self.model)",
            message="NGram and Suffix draft from the text itself: remove model",
            offence=lambda profile: profile.model if profile.method in _WITHOUT_MODEL else None,
            below=("model",),
        ),
        Rule["Profile"](
            cel="self.method in ['NGram', 'Disabled'] || "
            "(!has(self.promptLookupMax) && !has(self.promptLookupMin))",
            message="promptLookupMax and promptLookupMin belong to NGram: remove them, or set "
            "method to NGram",
            offence=lambda profile: (
                profile.prompt_lookup_max or profile.prompt_lookup_min
                if profile.method not in {Method.NGRAM, Method.DISABLED}
                else None
            ),
        ),
        Rule["Profile"](
            cel="!has(self.promptLookupMax) || !has(self.promptLookupMin) || "
            "self.promptLookupMin <= self.promptLookupMax",
            message="set promptLookupMin to at most promptLookupMax",
            offence=lambda profile: (
                profile.prompt_lookup_min
                if profile.prompt_lookup_max is not None
                and profile.prompt_lookup_min is not None
                and profile.prompt_lookup_min > profile.prompt_lookup_max
                else None
            ),
            below=("promptLookupMin",),
        ),
        Rule["Profile"](
            cel="!has(self.schedule) || (has(self.numSpeculativeTokens) && "
            "self.schedule.all(r, r.numSpeculativeTokens <= self.numSpeculativeTokens))",
            message="a row drafts more than the profile: set numSpeculativeTokens to the most that "
            "the schedule names",
            offence=lambda profile: schedule_above(
                profile.schedule, profile.num_speculative_tokens
            ),
            below=("schedule",),
        ),
        Rule["Profile"](
            cel="!has(self.acceptancePercent) || self.method != 'Disabled'",
            message="Disabled drafts nothing that could be accepted: remove acceptancePercent",
            offence=lambda profile: (
                profile.acceptance_percent if profile.method is Method.DISABLED else None
            ),
            below=("acceptancePercent",),
        ),
        Rule["Profile"](
            cel="!has(self.acceptancePercent) || !has(self.numSpeculativeTokens) || "
            "size(self.acceptancePercent) == self.numSpeculativeTokens",
            message="give acceptancePercent one number for each of numSpeculativeTokens positions",
            offence=lambda profile: (
                list(profile.acceptance_percent)
                if profile.acceptance_percent is not None
                and profile.num_speculative_tokens not in (None, len(profile.acceptance_percent))
                else None
            ),
            below=("acceptancePercent",),
        ),
        Rule["Profile"](
            cel="self.method != 'Disabled' || (!has(self.model) && "
            "!has(self.numSpeculativeTokens) && !has(self.promptLookupMax) && "
            "!has(self.promptLookupMin) && !has(self.schedule) && !has(self.extra))",
            message="Disabled drafts nothing: remove model, numSpeculativeTokens, promptLookupMax, "
            "promptLookupMin, schedule and extra",
            offence=lambda profile: (
                profile.name
                if profile.method is Method.DISABLED and profile.takes_settings
                else None
            ),
        ),
    )


def _disabled_count_offence(profiles: tuple[Profile, ...]) -> list[str] | None:
    names = [profile.name for profile in profiles if profile.method is Method.DISABLED]
    return None if len(names) == 1 else names


def _identical_pair(profiles: tuple[Profile, ...]) -> list[str] | None:
    first_with: dict[tuple[object, ...], str] = {}
    for profile in profiles:
        other = first_with.setdefault(profile.configuration, profile.name)
        if other != profile.name:
            return [other, profile.name]
    return None


def _same(field: str, unset: str) -> str:
    """Return CEL that compares an optional field of `p` and `q`; unset equals unset only."""
    return f"(has(p.{field}) ? p.{field} : {unset}) == (has(q.{field}) ? q.{field} : {unset})"


EXACTLY_ONE_DISABLED: Final = Rule[tuple[Profile, ...]](
    cel="self.exists_one(p, p.method == 'Disabled')",
    message="list exactly one profile with method Disabled: it is what the server falls back to",
    offence=_disabled_count_offence,
)

NO_IDENTICAL_PROFILES: Final = Rule[tuple[Profile, ...]](
    cel="self.all(p, self.exists_one(q, p.method == q.method && "
    + " && ".join(
        [
            _same("model", "''"),
            _same("numSpeculativeTokens", "0"),
            _same("promptLookupMax", "0"),
            _same("promptLookupMin", "0"),
            _same("schedule", "[]"),
            _same("extra", "[]"),
        ]
    )
    + "))",
    message="two profiles say the same under two names: remove one, or change its settings",
    offence=_identical_pair,
)

Profiles = Annotated[
    tuple[Profile, ...],
    Field(min_length=1, max_length=MAX_PROFILES),
    ListMap("name"),
    EXACTLY_ONE_DISABLED,
    NO_IDENTICAL_PROFILES,
]
