"""By which release a server is judged: a person's word, else the image's tag, else the serving."""

from pathlib import Path

import pytest

from tests.unit.cli.lint_inputs import Body, Lint, default, profile, serving, target

TABLE = [{"fromRequests": 1, "numSpeculativeTokens": 4}]
OWN = "reg/own:1"


def tabled(version: str | None) -> Body:
    """Return a serving whose table a release before 0.24 does not know."""
    engine: Body = (
        {} if version is None else {"engine": {"version": version, "unverified": "Allow"}}
    )
    return serving(profile("Eagle", schedule=TABLE), **engine)


@pytest.mark.parametrize(
    ("image", "stated", "options", "old"),
    [
        (OWN, "0.23.0", (), True),
        (OWN, "v0.23", (), True),
        (OWN, "0.24.0", (), False),
        (OWN, None, (), False),
        ("vllm/vllm-openai:v0.24.0", "0.23.0", (), False),
        ("vllm/vllm-openai:v0.23.0", "0.24.0", (), True),
        (OWN, "0.23.0", ("--vllm", "0.24.0"), False),
        (OWN, "0.24.0", ("--vllm", "0.23.0"), True),
    ],
)
def test_the_first_that_tells_the_release_counts(
    image: str, stated: str | None, options: tuple[str, ...], old: bool, tmp_path: Path
) -> None:
    bodies = (target(image=image), default(), tabled(stated))
    found = Lint(tmp_path).checks(bodies, *options)
    assert ("KeyUnknown" in found) == old
    if old:
        assert found["KeyUnknown"]["severity"] == "Error"
        assert "0.23.0" in found["KeyUnknown"]["consequence"]
    nobody_tells = image == OWN and stated is None and not options
    assert ("ReleaseUnknown" in found) == nobody_tells


def test_a_serving_that_was_given_alone_tells_the_release(tmp_path: Path) -> None:
    found = Lint(tmp_path).checks([tabled("0.23.0")])
    assert "KeyUnknown" in found
    assert "ReleaseUnknown" not in found


def test_where_nobody_tells_the_release_every_way_out_is_named(tmp_path: Path) -> None:
    lint = Lint(tmp_path)
    for bodies in ([tabled(None)], [target(image=OWN), default(), tabled(None)]):
        fix = lint.checks(bodies)["ReleaseUnknown"]["fix"]
        assert "spec.engine.version" in fix
        assert "--vllm" in fix
