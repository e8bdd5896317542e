"""Whether a drafter's weights can be reached when a server starts, as far as a manifest shows it.

Weights lie in the image, on a volume, in a cache that a volume keeps, or are downloaded at each
start; some may be downloaded by account holders alone. What an image holds, and what a cache holds
already, no manifest tells: nothing here stops a roll.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from ridgeline.engine.check_subject import key_finding
from ridgeline.engine.findings import Finding, Severity
from ridgeline.engine.speculative_config import Profile

_TOKENS: Final = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH")
"""Variables that huggingface_hub takes an account's token from (its documentation of variables)."""

_OFFLINE: Final = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_YES: Final = frozenset({"1", "on", "yes", "true"})
USUAL_CACHE: Final = str(PurePosixPath("/", "root", ".cache", "huggingface"))
"""Where the cache lies in vLLM's own image, which runs as root, unless HF_HOME says otherwise."""

_GATED: Final = ("meta-llama/", "google/gemma-", "mistralai/mistral-large")
"""Names of models whose licence must be accepted before a download (their model cards)."""

_SCHEMES: Final = ("s3://", "gs://", "az://", "oci://", "http://", "https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a container has to get weights with.

    Attributes:
        variables: Names of its variables, with their values where they are known.
        mounts: Paths at which volumes are mounted.
        may_have_token: Whether a token may come from where nobody looked, such as a Secret.
    """

    variables: Mapping[str, str | None] = field(default_factory=dict)
    mounts: tuple[str, ...] = ()
    may_have_token: bool = False


def weights_findings(profile: Profile, reach: Reach) -> Iterator[Finding]:
    """Yield what may keep a server from its drafter's weights.

    Args:
        profile: The profile.
        reach: What its container has to get weights with.
    """
    model, environment, mounts = profile.model, reach.variables, reach.mounts
    if not profile.method.speculates or model is None or model.startswith(_SCHEMES):
        return
    if model.startswith(("/", ".")):
        yield from _path(model, mounts)
        return
    offline = next((name for name in _OFFLINE if _is_on(environment.get(name))), None)
    home = environment.get("HF_HOME") or environment.get("HF_HUB_CACHE") or USUAL_CACHE
    kept = any(_below(home, mount) for mount in mounts)
    if offline is not None:
        if not kept:
            yield _finding(
                "WeightsOffline",
                model,
                f"{offline} forbids the download, and no volume is mounted at {home}: the start "
                "stops unless the image holds the weights there",
                f"mount the cache at {home}, or take {offline} out",
                Severity.WARNING,
            )
        return
    token = reach.may_have_token or any(name in environment for name in _TOKENS)
    if _is_gated(model) and not token and not kept:
        yield _finding(
            "WeightsGated",
            model,
            "its licence must be accepted before it can be downloaded, and the container has no "
            "token: the start stops",
            "give HF_TOKEN from a Secret, or mount a cache that holds the weights",
            Severity.WARNING,
        )
    elif not kept:
        yield _finding(
            "WeightsDownloaded",
            model,
            f"no volume is mounted at {home}: every start of every replica downloads the weights "
            "to the node's own disk",
            f"mount a volume at {home}",
            Severity.INFO,
        )


def _path(model: str, mounts: Sequence[str]) -> Iterator[Finding]:
    if not any(_below(model, mount) for mount in mounts):
        yield _finding(
            "WeightsPath",
            model,
            "no volume is mounted there: the start stops unless the image holds the weights",
            "mount the volume that holds them, or correct the path",
            Severity.INFO,
        )


def _below(path: str, mount: str) -> bool:
    return PurePosixPath(path).is_relative_to(PurePosixPath(mount)) and mount not in ("", "/")


def _is_gated(model: str) -> bool:
    return model.casefold().startswith(_GATED)


def _is_on(value: str | None) -> bool:
    return value is not None and value.strip().casefold() in _YES


def _finding(check: str, model: str, consequence: str, fix: str, severity: Severity) -> Finding:
    return key_finding(
        check=check,
        key="model",
        value=model,
        consequence=consequence,
        fix=fix,
        severity=severity,
    )
