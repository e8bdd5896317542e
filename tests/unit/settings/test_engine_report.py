"""From a container's command line and a serving's profiles to what its engine would serve."""

from ridgeline.engine.container import Container
from ridgeline.engine.speculative_config import Profile
from ridgeline.settings.engine_report import engine_report
from ridgeline.terms.methods import Method
from ridgeline.terms.modes import UnverifiedEngine
from ridgeline.terms.names import PROFILE_ENV

EAGLE = Profile(name="eagle", method=Method.EAGLE, model="org/head", num_speculative_tokens=4)
NONE = Profile(name="none", method=Method.DISABLED)
SUFFIX = Profile(name="suffix", method=Method.SUFFIX)
SCHEDULED = Profile(
    name="eagle",
    method=Method.EAGLE,
    model="org/head",
    num_speculative_tokens=4,
    schedule=((1, 16, 4), (17, 1024, 0)),
)


def server(*words: str) -> Container:
    return Container(
        name="vllm",
        command=("vllm", "serve", "org/model"),
        args=(f"--speculative-config=$({PROFILE_ENV})", *words),
        has_env_from=True,
    )


def test_a_release_that_serves_every_profile_refuses_none() -> None:
    report = engine_report(server(), (EAGLE, NONE), "0.24.0")
    assert (report.version, report.known_as, report.verified) == ("0.24.0", "0.24.0", True)
    assert report.automatic
    assert report.refused == {}


def test_a_method_that_the_release_lacks_is_refused_with_the_way_out() -> None:
    report = engine_report(server(), (EAGLE, SUFFIX, NONE), "0.11.0")
    assert set(report.refused) == {"suffix"}
    assert "method" in report.refused["suffix"]
    assert ";" in report.refused["suffix"]


def test_a_schedule_is_refused_where_engines_would_wait_for_each_other() -> None:
    single = engine_report(server(), (SCHEDULED, NONE), "0.24.0")
    several = engine_report(server("--data-parallel-size=2"), (SCHEDULED, NONE), "0.24.0")
    assert single.refused == {}
    assert "wait for each other" in several.refused["eagle"]


def test_keys_off_the_list_of_the_release_are_refused() -> None:
    measuring = Profile(
        name="eagle",
        method=Method.EAGLE,
        model="org/head",
        num_speculative_tokens=4,
        extra=(("rejection_sample_method", "synthetic"),),
    )
    report = engine_report(server(), (measuring, NONE), "0.32.0")
    assert "rejection_sample_method" in report.refused["eagle"]


def test_an_empty_value_stops_releases_that_take_it_for_broken_json() -> None:
    assert "none" in engine_report(server(), (EAGLE, NONE), "0.10.0").refused
    assert engine_report(server(), (EAGLE, NONE), "0.10.1").refused == {}


def test_nothing_is_refused_on_a_guess_of_the_release() -> None:
    unknown = engine_report(server(), (EAGLE, SUFFIX, NONE), None)
    assert (unknown.version, unknown.verified, unknown.refused) == (None, False, {})


def test_a_release_from_the_future_is_judged_as_the_newest_and_not_verified() -> None:
    report = engine_report(server(), (EAGLE, NONE), "0.99.0", unverified=UnverifiedEngine.ALLOW)
    assert not report.verified
    assert report.unverified_allowed
    assert report.automatic
    assert report.known_as != "0.99.0"


def test_what_only_slows_a_server_down_is_a_note_and_no_refusal() -> None:
    parallel = Profile(
        name="eagle",
        method=Method.EAGLE3,
        model="org/head",
        num_speculative_tokens=4,
        extra=(("draft_tensor_parallel_size", 1),),
    )
    report = engine_report(server("--tensor-parallel-size=4"), (parallel, NONE), "0.24.0")
    assert report.refused == {}
    assert any("draft_tensor_parallel_size" in note for note in report.notes["eagle"])
