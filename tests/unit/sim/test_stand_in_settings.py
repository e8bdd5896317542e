"""The stand-in's own environment variables."""

import re
from pathlib import Path

import pytest

from ridgeline.sim import stand_in
from ridgeline.sim.stand_in.settings import InvalidSettingError, StandInSettings, read_settings


def test_defaults_are_the_dataclass_defaults() -> None:
    assert read_settings({"PATH": "/bin"}) == StandInSettings()


def test_every_variable_is_read_and_documented() -> None:
    table = set(re.findall(r"^(STAND_IN_[A-Z0-9_]+)", stand_in.__doc__ or "", re.MULTILINE))
    values = {
        "STAND_IN_ENGINE_VERSION": "0.11.0",
        "STAND_IN_ACCEPTANCE": "0.9,0.8",
        "STAND_IN_MISSING_MODELS": "gone",
        "STAND_IN_VOCABULARY": "a=1",
        "STAND_IN_GAUGE_FLICKER": "0.5",
        "STAND_IN_BOOT_SPREAD": "0.1",
        "STAND_IN_STARTUP_BY_PROFILE": "eagle=2",
        "STAND_IN_STEP_FACTOR": "eagle=2",
        "STAND_IN_ANSWER_SHARE": "eagle=0.5",
    }
    default = read_settings({})
    for name in table:
        assert read_settings({name: values.get(name, "7")}) != default, name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("STARTUP_SECONDS", "soon"),
        ("STARTUP_SECONDS", "nan"),
        ("STARTUP_SECONDS", "inf"),
        ("STARTUP_SECONDS", "-1"),
        ("TIME_SCALE", "0"),
        ("GAUGE_FLICKER", "1.5"),
        ("SEED", "1.5"),
        ("ACCEPTANCE", "0.5,1.1"),
        ("ACCEPTANCE", "high"),
        ("VOCABULARY", "model"),
        ("ENGINE_VERSION", "0.7.0"),
        ("ENGINE_VERSION", "0.99.0"),
        ("ENGINE_VERSION", "latest"),
        ("BOOT_SPREAD", "1"),
        ("STARTUP_BY_PROFILE", "eagle"),
        ("STARTUP_BY_PROFILE", "eagle=-1"),
        ("STEP_FACTOR", "eagle=0"),
        ("STEP_FACTOR", "=2"),
        ("ANSWER_SHARE", "eagle=nan"),
        ("ANSWER_SHARE", "eagle=inf"),
        ("NO_SUCH_THING", "1"),
    ],
)
def test_what_means_nothing_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InvalidSettingError, match=f"STAND_IN_{name}"):
        read_settings({f"STAND_IN_{name}": value})


def test_every_variable_is_in_the_reference() -> None:
    told = (Path(__file__).parents[3] / "docs/reference/stand-in.md").read_text()
    names = re.findall(r"^STAND_IN(_[A-Z0-9_]+)", stand_in.__doc__ or "", re.MULTILINE)
    assert [name for name in names if f"{name}`" not in told] == []


def test_variables_that_kubernetes_sets_for_a_service_of_that_name_are_left_alone() -> None:
    injected = {
        "STAND_IN_SERVICE_HOST": "10.0.0.1",
        "STAND_IN_PORT": "tcp://10.0.0.1:8000",
        "STAND_IN_PORT_8000_TCP": "tcp://10.0.0.1:8000",
    }
    assert read_settings(injected) == StandInSettings()


def test_a_release_between_two_that_were_read_is_taken() -> None:
    assert read_settings({"STAND_IN_ENGINE_VERSION": "0.11.2"}).engine_version == "0.11.2"
