"""A speculative config as a profile of one release, and back: only what that release serves.

The keys are an allow-list: those that a field of the profile renders, and the release's extra keys.
Keys that load code, change the answers or are the server's own are refused, even where the release
would take them.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ridgeline.engine.check_keys import check_keys, check_method
from ridgeline.engine.check_lookahead import check_lookahead, check_lookup, check_model_named
from ridgeline.engine.check_schedule import check_schedule
from ridgeline.engine.check_subject import CONFIG_FLAG, SCHEDULE, Subject
from ridgeline.engine.contract import EngineContract, KeyUse
from ridgeline.engine.findings import Finding, Severity, shown, worst_first
from ridgeline.engine.speculative_config import (
    VLLM_METHOD,
    InvalidSpeculativeConfigError,
    LoadsCodeError,
    Profile,
    Scalar,
    ScheduleRow,
    config_of,
    config_text,
    refuse_code,
)
from ridgeline.terms.methods import Method

_CHECKS: Final = (
    check_keys,
    check_method,
    check_model_named,
    check_lookahead,
    check_lookup,
    check_schedule,
)
_ALSO_REFUSED: Final = frozenset({"ScheduleGap"})
"""A gap starts, but does not say what happens: a profile has no place for it."""

_LOADING: Final = frozenset({"KeyLoadsCode", "RunsNamedClass"})
_WITHOUT_MODEL: Final = frozenset({Method.NGRAM, Method.SUFFIX})


def render_for(profile: Profile, contract: EngineContract) -> str:
    """Return the text of a profile for one release; the bytes are those of `render`.

    Raises:
        InvalidSpeculativeConfigError: The release does not serve the profile. The message names
            the key and the way out.
    """
    config = config_of(profile)
    if config:
        profile_from(config, contract, name=profile.name)
    return config_text(config)


def profile_from(
    config: Mapping[str, object] | None, contract: EngineContract, *, name: str
) -> Profile:
    """Return the profile that a config describes, `Disabled` for none.

    Nothing is lost: `config_of` gives the same config, its keys and rows in their order. A family's
    own name for MTP (`deepseek_mtp`) becomes `mtp` where the release takes both.

    Args:
        config: As `parse` or `config_in_force` returns it.
        contract: What the release accepts.
        name: The profile's name.

    Raises:
        InvalidSpeculativeConfigError: The release does not serve it, or no profile describes it.
            The message is about the worst that is wrong, names its key and the way out.
    """
    if config is None:
        return Profile(name=name, method=Method.DISABLED)
    refuse_code(config)
    subject = Subject(contract=contract, config=config)
    keys = {key: value for key, value in subject.keys.items() if value is not None}
    _refuse_findings(subject)
    _refuse_keys_off_the_list(keys, contract)
    method = _method(subject)
    model = keys.get("model")
    if model is not None and method in _WITHOUT_MODEL:
        raise _problem("model", model, f"method {subject.method} drafts from the text; remove it")
    rest = {key: value for key, value in keys.items() if key not in _OWN}
    return Profile(
        name=name,
        method=method,
        model=_text(model),
        num_speculative_tokens=_whole(keys.get("num_speculative_tokens")),
        prompt_lookup_max=_whole(keys.get("prompt_lookup_max")),
        prompt_lookup_min=_whole(keys.get("prompt_lookup_min")),
        schedule=_rows(keys.get(SCHEDULE)),
        extra=tuple(_extras(rest)),
    )


_OWN: Final = frozenset(
    {
        *("method", "model", "num_speculative_tokens"),
        *("prompt_lookup_max", "prompt_lookup_min", SCHEDULE),
    }
)
"""Keys that a field of `Profile` renders."""


def _refuse_findings(subject: Subject) -> None:
    found = [each for check in _CHECKS for each in check(subject) if _refused(each)]
    loading = [each for each in found if each.check in _LOADING]
    worst = next(iter(loading or worst_first(found)), None)
    if worst is None:
        return
    where = f"{worst.flag} {worst.value}".rstrip()
    error = LoadsCodeError if loading else InvalidSpeculativeConfigError
    raise error(f"{where}: {worst.consequence}; {worst.fix}")


def _refused(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR or finding.check in _ALSO_REFUSED


def _refuse_keys_off_the_list(keys: Mapping[str, object], contract: EngineContract) -> None:
    for key, value in keys.items():
        known = contract.keys.get(key)
        if known is None:
            raise _problem(key, value, f"vLLM {contract.version} does not know the key; remove it")
        if known.use not in (KeyUse.PROFILE, KeyUse.EXTRA):
            raise _problem(key, value, f"{_WHY[known.use]}; remove it")
        if known.use is KeyUse.PROFILE and key not in _OWN:
            raise _problem(key, value, "no profile has a field for the key; remove it")


_WHY: Final = {
    KeyUse.NO_EFFECT: "this release accepts the key and nothing reads it",
    KeyUse.MEASURING: "the key changes what the server answers, which is for measurements alone",
    KeyUse.INTERNAL: "vLLM fills the key by itself",
    KeyUse.LOADS_CODE: "the key can make the server run code that is not its own",
}


def _method(subject: Subject) -> Method:
    contract, name = subject.contract, subject.method
    offered = [VLLM_METHOD[each] for each in VLLM_METHOD if each in contract.methods]
    if not name:
        raise _problem(
            "method", None, f"vLLM would guess it from the model; name one of {', '.join(offered)}"
        )
    found = next((each for each, known in VLLM_METHOD.items() if known == name), None)
    if found is None:
        raise _problem(
            "method",
            name,
            f"no profile for vLLM {contract.version} has it; choose one of {', '.join(offered)}",
        )
    return found


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _rows(value: object) -> tuple[ScheduleRow, ...] | None:
    # Its shape was checked before.
    return tuple(sorted((a, b, k) for a, b, k in value)) if isinstance(value, list) else None


def _extras(rest: Mapping[str, object]) -> Iterator[tuple[str, Scalar]]:
    for key, value in sorted(rest.items()):
        if not isinstance(value, Scalar):
            raise _problem(key, value, "a profile's extra keys are texts, numbers and switches")
        yield key, value


def _problem(key: str, value: object, told: str) -> InvalidSpeculativeConfigError:
    where = f"{CONFIG_FLAG} {shown(key)[1:-1]}"
    if value is not None:
        where = f"{where} {shown(value)}"
    return InvalidSpeculativeConfigError(f"{where}: {told}")
