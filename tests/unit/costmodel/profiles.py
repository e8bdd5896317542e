"""Profiles and GPUs that the tests of this folder share."""

from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.costmodel.ridge import Speculation
from ridgeline.settings.catalogue import load_catalogue
from ridgeline.terms.links import Link
from ridgeline.terms.methods import Method

NONE = Speculation(name="none", method=Method.DISABLED)


def eagle(lookahead: int | None, name: str = "eagle") -> Speculation:
    return Speculation(name=name, method=Method.EAGLE, lookahead=lookahead)


def draft(lookahead: int, name: str = "draft") -> Speculation:
    return Speculation(name=name, method=Method.DRAFT_MODEL, lookahead=lookahead)


def gpu(name: str) -> Accelerator:
    found = load_catalogue().named(name)
    assert found is not None, name
    return found


def made_up(**figures: object) -> Accelerator:
    """A GPU of round numbers: a knee of 100 tokens."""
    values: dict[str, object] = {
        "name": "round",
        "memory_gib": 80.0,
        "bandwidth_gb_s": 1000.0,
        "bf16_tflops": 100.0,
        "fp8_tflops": 200.0,
        "native_fp8": True,
        "link": Link.NVLINK,
        "link_gb_s": 100.0,
        "source": "made up",
        "as_of": "2026-11-29",
        "checked": True,
    }
    return Accelerator(**(values | figures))  # type: ignore[arg-type]
