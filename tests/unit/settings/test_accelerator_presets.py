"""Published operating points."""

import pytest

from ridgeline.costmodel.ridge import Speculation
from ridgeline.costmodel.table import CutoffRow, CutoffTable
from ridgeline.policy.facts import Problem
from ridgeline.settings.accelerators import load_catalogue
from ridgeline.settings.presets import load_presets, preset_table
from ridgeline.terms.methods import Method
from ridgeline.terms.reasons import Reason
from ridgeline.terms.verdict import Verdict

HEAD = Speculation(name="head", method=Method.EAGLE, lookahead=4)
MODEL = Speculation(name="model", method=Method.DRAFT_MODEL, lookahead=5)
NONE = Speculation(name="none", method=Method.DISABLED)


@pytest.mark.parametrize(("name", "cutoff", "edge"), [("h100-bf16", 20, 16), ("h100-fp8", 32, 26)])
def test_the_published_points(name: str, cutoff: float, edge: float) -> None:
    found = preset_table(name, [NONE, HEAD, MODEL])
    assert isinstance(found, CutoffTable)
    assert found.rows == (
        CutoffRow(profile="head", up_to=cutoff, return_below=edge),
        CutoffRow(profile="none"),
    )
    assert found.verdict is Verdict.YES
    assert found.reasons[0].startswith(f"preset {name}, published for h100-sxm at ")


def test_every_preset_names_a_gpu_of_the_catalogue_a_source_and_a_date() -> None:
    for name, preset in load_presets().items():
        assert preset.name == name
        assert preset.accelerator in load_catalogue().names
        assert preset.source
        assert preset.as_of == "2026-11-29"


@pytest.mark.parametrize(
    ("name", "profiles", "message"),
    [
        ("h100", [HEAD, NONE], "no preset 'h100'; use one of h100-bf16, h100-fp8"),
        ("h100-fp8", [HEAD], "needs a profile with method Disabled"),
        ("h100-fp8", [NONE], "needs a profile that speculates"),
    ],
)
def test_what_cannot_be_followed_says_what_to_do(
    name: str, profiles: list[Speculation], message: str
) -> None:
    found = preset_table(name, profiles)
    assert isinstance(found, Problem)
    assert found.reason is Reason.SPEC_INVALID
    assert message in found.message
