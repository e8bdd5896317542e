"""What an answer names as not declared is found, and left out."""

import pytest

from ridgeline.cluster.undeclared import undeclared_fields, without


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("failed to create typed patch object (a/b; v1, Kind=K): .status.x: no", ()),
        (
            "failed (a/b; v1, Kind=K): .status.future: field not declared in schema",
            (("status", "future"),),
        ),
        (
            "failed: errors:\n  .status.a: field not declared in schema\n"
            '  .status.told[type="Ready"].b-c: field not declared in schema\n'
            "  .status.rows[0].d: field not declared in schema",
            (("status", "a"), ("status", "told", "b-c"), ("status", "rows", "d")),
        ),
        (
            'failed: .status.told[name="a].b"].c: field not declared in schema',
            (("status", "told", "c"),),
        ),
    ],
)
def test_fields_are_read_from_the_answer(message: str, found: tuple[tuple[str, ...], ...]) -> None:
    assert undeclared_fields(message) == found


def test_fields_are_left_out_wherever_they_stand() -> None:
    document = {"a": {"b": 1, "c": 2}, "rows": [{"b": 1, "c": 2}, {"c": 3}, 4], "d": 5}
    assert without(document, [("a", "b"), ("rows", "c"), ("d",)]) == {
        "a": {"c": 2},
        "rows": [{"b": 1}, {}, 4],
    }
    assert document["d"] == 5
    assert without(document, [("x", "y"), ("d", "e", "f")]) == document
