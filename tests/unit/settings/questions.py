"""What the Goodput strategy is asked in the tests of this folder."""

from collections.abc import Sequence
from typing import Any

from ridgeline.engine.served_model import served_model
from ridgeline.engine.speculative_config import Profile
from ridgeline.policy.facts import Problem
from ridgeline.policy.learned import Learned
from ridgeline.settings.accelerators import load_catalogue
from ridgeline.settings.goodput import GoodputInputs, Question, ask
from ridgeline.settings.target_model import target_model
from ridgeline.terms.methods import Method
from ridgeline.terms.precision import Precision

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
NONE = Profile(name="none", method=Method.DISABLED)


def eagle3(**fields: Any) -> Profile:
    values: dict[str, Any] = {"name": "eagle3", "num_speculative_tokens": 3, **fields}
    return Profile(method=Method.EAGLE3, **values)


def inputs(*flags: str, gpu: str = "h100-sxm", serves: str = LLAMA, **fields: Any) -> GoodputInputs:
    """What is known of a server with these flags."""
    served = served_model(("vllm", "serve", serves, *flags))
    accelerator = load_catalogue().named(gpu)
    assert accelerator is not None
    values: dict[str, Any] = {
        "accelerator": accelerator,
        "model": target_model(None, served),
        "precision": Precision.BF16,
        "served": served,
        "engine_version": "0.24.0",
        **fields,
    }
    return GoodputInputs(**values)


def asked(
    *flags: str,
    profiles: Sequence[Profile] | None = None,
    learned: Learned | None = None,
    **fields: Any,
) -> Question:
    """The question; what was learned is taken for learned on its own basis."""
    found = ask(profiles or (eagle3(), NONE), inputs(*flags, learned=learned, **fields))
    assert not isinstance(found, Problem), found.message
    return found


BASIS = asked().basis
