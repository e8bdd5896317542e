"""What one vLLM release accepts in a speculative config, does with it, and exports.

The rows are data (`settings.engine_contract` loads them); this module is their shape, and finds the
row of a version.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from ridgeline.engine.findings import Severity
from ridgeline.terms.methods import Method

TPOT_METRIC: Final = "vllm:request_time_per_output_token_seconds"
"""The latency per token; an automatic mode needs it."""


class UnknownKeys(StrEnum):
    """What a release does with a key that it does not know."""

    REFUSED = "Refused"
    IGNORED = "Ignored"


class Honoured(StrEnum):
    """What a release does with a key that others know."""

    WORKS = "Works"
    IGNORED = "Ignored"
    """Accepted, without any effect."""
    REFUSED = "Refused"
    """The server does not start."""


class KeyType(StrEnum):
    """What the value of a key is, as JSON."""

    TEXT = "Text"
    WHOLE = "Whole"
    NUMBER = "Number"
    SWITCH = "Switch"
    NUMBERS = "Numbers"
    TABLE = "Table"
    """Rows of three whole numbers: first and last concurrency, lookahead."""
    OBJECT = "Object"


class KeyUse(StrEnum):
    """Who may set a key."""

    PROFILE = "Profile"
    """A field of the profile renders it."""
    EXTRA = "Extra"
    """On the allow-list: it may stand beside the profile's own."""
    NO_EFFECT = "NoEffect"
    """Accepted, and read by nothing in this release."""
    MEASURING = "Measuring"
    """Changes what the server answers: for measurements, never for people's requests."""
    INTERNAL = "Internal"
    """vLLM fills it by itself; a person's value breaks the start."""
    LOADS_CODE = "LoadsCode"
    """Its value can make the server run code that it was not built with: refused by ridgeline."""


class DraftTensorParallel(StrEnum):
    """Which tensor-parallel sizes a drafter may have."""

    ONE_OR_TARGET = "OneOrTarget"
    """1 or the target's."""
    TARGET = "Target"
    """The target's alone; anything else stops the start."""
    IGNORED = "Ignored"
    """The key is accepted and the drafter runs at the target's."""


class CustomClass(StrEnum):
    """When a release takes `model` for the path of a class, which it then imports and runs."""

    NEVER = "Never"
    WITHOUT_METHOD = "WithoutMethod"
    """When no method is told and the model is a dotted path."""
    ALWAYS = "Always"
    """When the model has a dot and no slash, whatever the method."""


class DraftSlots(StrEnum):
    """How room for drafts is taken from `--max-num-batched-tokens`."""

    NONE = "None"
    PER_REQUEST = "PerRequest"
    """slots · max-num-seqs less are scheduled; nothing left stops the start."""
    ONCE = "Once"
    """Nothing less is scheduled; fewer tokens than one request's slots stop the start."""


class Circumstance(StrEnum):
    """Something about a server, beside method and keys, that a trap depends on."""

    LORA = "Lora"
    PIPELINE_PARALLEL = "PipelineParallel"
    DATA_PARALLEL = "DataParallel"
    EAGER = "Eager"
    ASYNC_SCHEDULING = "AsyncScheduling"
    """Asked for by a flag; vLLM's own choice avoids what does not work."""
    NO_LOG_STATS = "NoLogStats"
    API_SERVERS = "ApiServers"
    """More than one front-end process."""
    LOGITS_PROCESSORS = "LogitsProcessors"
    LM_FORMAT_ENFORCER = "LmFormatEnforcer"
    """The backend of structured output."""
    SECOND_RUNNER = "SecondRunner"
    """Model Runner V2 asked for in the environment; vLLM's own choice falls back to V1."""
    ROW_OF_ZERO = "RowOfZero"
    """The in-engine schedule has a row with a K of 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyContract:
    """One key of the speculative config.

    Attributes:
        name: The key.
        type: What its value is.
        use: Who may set it.
        about: What it means, for a person.
        minimum: Lowest value of a number (or of the numbers of a list); `None`: no limit.
        maximum: Highest value; `None`: no limit.
        choices: Values of a text; empty: any.
        methods: vLLM's names of the methods that it goes with; empty: any. With another the start
            stops, or the key has no effect.
    """

    name: str
    type: KeyType
    use: KeyUse
    about: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """Something that this release accepts, and that goes wrong.

    It is about a server whose method is one of `methods` (or any), whose config has one of `keys`
    (or whatever), and of which all of `when` hold.

    Attributes:
        name: Stable name.
        consequence: What happens.
        fix: What to do.
        severity: How much it matters.
        methods: vLLM's names of methods; empty: any.
        keys: Keys of the config; empty: any.
        when: What must hold of the server besides.
        source: Where it was read.
    """

    name: str
    consequence: str
    fix: str
    severity: Severity
    methods: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    when: frozenset[Circumstance] = frozenset()
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineContract:
    """What one release of vLLM accepts, does and exports.

    Attributes:
        version: The release, as `major.minor.patch`.
        known_as: The release whose package was read; another one when `version` was not.
        verified: Whether the package of `version` was read, or only a later patch changes it.
        keys: Keys of the speculative config that it accepts, by name.
        methods: Methods that it serves.
        method_names: vLLM's names of methods that its config accepts, aliases too.
        not_implemented: Names among them that stop the start all the same.
        unknown_keys: What it does with other keys.
        flags: Flags of `vllm serve` that matter here and that it has, with their short forms.
        metrics: Names of series that it exports, histograms without their suffixes.
        empty_config_is_off: Whether an empty `--speculative-config=` means no speculation (else it
            is a usage error).
        honours_schedule: Whether it has `num_speculative_tokens_per_batch_size`.
        schedule_methods: vLLM's names of methods with which the table is honoured.
        schedule_with_data_parallel: Whether the table works with several engines.
        schedule_dropped_with_data_parallel: Whether it is then left out by itself; else the engines
            wait for each other for ever.
        disable_by_batch_size: What it does with that key.
        draft_tensor_parallel: Sizes that a drafter may have, by vLLM's name of the method.
        max_lookahead: Highest K that its sampler works with.
        checks_types: Whether it checks the values of keys; else a wrong method is no method, and a
            wrong value fails where it is used.
        dashed_keys: Whether a key may be written with dashes instead of underscores.
        draft_slots: How room for drafts is taken from the tokens of a step.
        speculators_checkpoint: Whether a checkpoint of the `speculators` library turns speculation
            on by itself.
        custom_class: When it takes `model` for the path of a class to run.
        eagle3_targets: What the target's `model_type` must contain for EAGLE-3; empty: the config
            does not look at it.
        default_memory_utilization: `--gpu-memory-utilization` when not given.
        traps: What else goes wrong.
    """

    version: str
    known_as: str
    verified: bool
    keys: Mapping[str, KeyContract]
    methods: frozenset[Method]
    method_names: frozenset[str]
    not_implemented: frozenset[str] = frozenset()
    unknown_keys: UnknownKeys
    flags: frozenset[str]
    metrics: frozenset[str]
    empty_config_is_off: bool
    honours_schedule: bool
    schedule_methods: frozenset[str] = frozenset()
    schedule_with_data_parallel: bool = False
    schedule_dropped_with_data_parallel: bool = False
    disable_by_batch_size: Honoured
    draft_tensor_parallel: Mapping[str, DraftTensorParallel] = field(default_factory=dict)
    max_lookahead: int
    checks_types: bool = True
    dashed_keys: bool = False
    draft_slots: DraftSlots = DraftSlots.NONE
    speculators_checkpoint: bool = False
    custom_class: CustomClass = CustomClass.NEVER
    eagle3_targets: frozenset[str] = frozenset()
    default_memory_utilization: float
    traps: tuple[Trap, ...] = ()

    @property
    def extra_keys(self) -> frozenset[str]:
        """Keys that may stand in a config beside those of a profile."""
        return frozenset(key for key, each in self.keys.items() if each.use is KeyUse.EXTRA)

    @property
    def automatic(self) -> bool:
        """Whether an automatic mode can work: the latency per token is exported."""
        return TPOT_METRIC in self.metrics


def runs_named_class(contract: EngineContract, *, method: str | None, model: str | None) -> bool:
    """Tell whether a release imports and runs the class that a config's `model` names.

    Args:
        contract: What the release accepts.
        method: The config's `method` as written; `None` when it names none.
        model: The config's `model`; `None` when it names none.
    """
    if method == "custom_class":
        return True
    if model is None or "/" in model or contract.custom_class is CustomClass.NEVER:
        return False
    if contract.custom_class is CustomClass.ALWAYS:
        return "." in model
    parts = model.split(".")
    return method is None and len(parts) > 1 and all(part.isidentifier() for part in parts)


class NoContractError(ValueError):
    """There is no contract to choose from, or the version is not one."""


def contract_of(contracts: Sequence[EngineContract], version: str | None) -> EngineContract:
    """Return what a version accepts: its own contract, or that of the nearest known release.

    A version that was not read gets the contract of the last release before it, as not verified;
    one older than all, that of the oldest. A patch after the last one that was read of its minor
    release counts as that one: patches of vLLM mend, and change no keys. An unknown version
    (`None`) is taken for the newest.

    Args:
        contracts: One for each release that was read, in any order.
        version: `0.24.0`, `v0.24.1`, `0.25.0rc1`; what follows the numbers is not looked at.

    Raises:
        NoContractError: `contracts` is empty, or `version` does not begin with two numbers.
    """
    if not contracts:
        raise NoContractError("no engine contract is known: the data file holds none")
    known = sorted(contracts, key=lambda each: parts_of(each.version))
    if version is None:
        return replace(known[-1], verified=False)
    wanted = parts_of(version)
    before = [each for each in known if parts_of(each.version) <= wanted]
    found = before[-1] if before else known[0]
    number = parts_of(found.version)
    if number == wanted:
        return found
    after = known[len(before) :]
    same_minor = bool(before) and number[:2] == wanted[:2]
    patched_again = bool(after) and parts_of(after[0].version)[:2] == wanted[:2]
    verified = found.verified and same_minor and not patched_again
    return replace(found, version=".".join(map(str, wanted)), verified=verified)


_NUMBERS: Final = re.compile(r"v?([0-9]{1,6})\.([0-9]{1,6})(?:\.([0-9]{1,6}))?(?:\.([0-9]{1,6}))?")


def parts_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, at least three.

    Raises:
        NoContractError: It does not begin with two numbers.
    """
    found = _NUMBERS.match(version)
    if found is None:
        raise NoContractError(
            f"engine version {version[:40]!r} is not one: write it as major.minor.patch (0.24.0)"
        )
    major, minor, patch, fourth = found.groups()
    parts = (int(major), int(minor), int(patch or 0))
    return (*parts, int(fourth)) if fourth else parts
