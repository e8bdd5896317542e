"""Where `explain` asks the operator, and what it refuses before anything is asked."""

import pytest

from ridgeline.cli.operator_flags import USUAL_OPERATOR, place_of_flags


def test_the_usual_place_is_the_charts() -> None:
    place = place_of_flags(USUAL_OPERATOR, None)
    assert place is not None
    assert (place.namespace, place.name, place.url) == ("ridgeline-system", "ridgeline", None)


def test_another_service_an_address_and_nobody_can_be_named() -> None:
    place = place_of_flags("ops/my-ridgeline", None)
    assert place is not None
    assert place.told == "ops/my-ridgeline"
    assert place_of_flags("none", None) is None
    place = place_of_flags("none", "http://localhost:8080")
    assert place is not None
    assert place.told == "http://localhost:8080"


@pytest.mark.parametrize("operator", ["", "ridgeline", "a/b/c", "A/b", "a/", "/b", "a/b:8080"])
def test_what_names_no_service_is_refused(operator: str) -> None:
    with pytest.raises(ValueError, match=r"--operator .*such as ridgeline-system/ridgeline"):
        place_of_flags(operator, None)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8080",
        "ftp://localhost",
        "http://",
        "http://me:secret@localhost",
        "http://localhost/explain",
        "http://localhost?x=1",
        "http://localhost:99999",
        "http://localhost:0",
    ],
)
def test_what_is_no_address_of_a_port_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="--operator-url: it is no address") as told:
        place_of_flags(USUAL_OPERATOR, url)
    assert "secret" not in str(told.value)
