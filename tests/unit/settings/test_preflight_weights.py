"""Whether a drafter's weights can be reached, as far as a manifest shows it."""

from pathlib import PurePosixPath

import pytest

from ridgeline.engine.speculative_config import Profile
from ridgeline.settings.preflight_weights import USUAL_CACHE, Reach, weights_findings
from ridgeline.terms.methods import Method

CACHE, ABOVE = USUAL_CACHE, str(PurePosixPath(USUAL_CACHE).parent)
TOKEN: dict[str, str | None] = {"HF_TOKEN": None}
OFFLINE: dict[str, str | None] = {"HF_HUB_OFFLINE": "1"}
MOVED: dict[str, str | None] = {"HF_HOME": "/data/hf"}


def found(
    model: str | None,
    environment: dict[str, str | None] | None = None,
    *mounts: str,
    method: Method = Method.DRAFT_MODEL,
) -> list[str]:
    profile = Profile(name="p", method=method, model=model, num_speculative_tokens=3)
    reach = Reach(variables=environment or {}, mounts=mounts)
    return [each.check for each in weights_findings(profile, reach)]


@pytest.mark.parametrize(
    ("model", "environment", "mounts", "checks"),
    [
        ("org/draft", {}, (), ["WeightsDownloaded"]),
        ("org/draft", {}, (CACHE,), []),
        ("org/draft", {}, (ABOVE,), []),
        ("org/draft", MOVED, (CACHE,), ["WeightsDownloaded"]),
        ("org/draft", MOVED, ("/data",), []),
        ("meta-llama/Llama-3.2-1B-Instruct", {}, (), ["WeightsGated"]),
        ("meta-llama/Llama-3.2-1B-Instruct", TOKEN, (), ["WeightsDownloaded"]),
        ("meta-llama/Llama-3.2-1B-Instruct", {}, (CACHE,), []),
        ("org/draft", OFFLINE, (), ["WeightsOffline"]),
        ("org/draft", OFFLINE, (CACHE,), []),
        ("org/draft", {"HF_HUB_OFFLINE": "0"}, (), ["WeightsDownloaded"]),
        ("/models/draft", {}, (), ["WeightsPath"]),
        ("/models/draft", {}, ("/models",), []),
        ("/models/draft", {}, ("/model",), ["WeightsPath"]),
        ("/models/draft", {}, ("/",), ["WeightsPath"]),
        ("s3://bucket/draft", {}, (), []),
    ],
)
def test_what_a_manifest_shows_of_the_weights(
    model: str,
    environment: dict[str, str | None],
    mounts: tuple[str, ...],
    checks: list[str],
) -> None:
    assert found(model, environment, *mounts) == checks


def test_profiles_without_a_drafter_of_their_own_need_none() -> None:
    assert found(None, method=Method.NGRAM) == []
    assert found(None, method=Method.DISABLED) == []


def test_each_finding_says_what_happens_and_what_to_do() -> None:
    profile = Profile(
        name="p", method=Method.DRAFT_MODEL, model="google/gemma-3-1b-it", num_speculative_tokens=2
    )
    (told,) = weights_findings(profile, Reach())
    (kinder,) = weights_findings(profile, Reach(may_have_token=True))
    assert kinder.check == "WeightsDownloaded"
    assert "the start stops" in told.consequence
    assert "HF_TOKEN" in told.fix
