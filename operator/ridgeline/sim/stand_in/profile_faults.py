"""What goes otherwise under one profile than under another: refused, killed, slow, or wrong.

One environment serves every profile of a Deployment, so these settings name the profiles that they
are for: by the method (`eagle`), by the drafter's model or an element of its path, or by `none`,
which stands for no speculation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ridgeline.sim.stand_in.failures import StartError, engine_core_error, value_error
from ridgeline.sim.stand_in.speculation import Speculation

NO_SPECULATION = "none"

KILLED = 137
"""Exit code of a process that the kernel killed: 128 + SIGKILL."""

_TARGETS_OF_HEADS = "['llama', 'qwen', 'minicpm', 'gpt_oss', 'hunyuan_vl', 'hunyuan_v1_dense']"


@dataclass(frozen=True, kw_only=True)
class ProfileFaults:
    """Which profiles fare how. Field by field as in the package's table.

    Attributes:
        refused: Names of profiles whose config is refused at once.
        misfit: Names of profiles whose drafter's weights do not fit, seen when they are loaded.
        killed: Names of profiles that the kernel kills for memory when the weights are loaded.
        never_ready: Names of profiles whose start never ends.
        faults_under: Names of profiles that the timed faults are for; empty stands for all.
        startup_s: Seconds that a profile adds to the start.
        step_factor: What multiplies a profile's step durations.
        answer_share: What multiplies the length of a profile's answers.
    """

    refused: frozenset[str] = frozenset()
    misfit: frozenset[str] = frozenset()
    killed: frozenset[str] = frozenset()
    never_ready: frozenset[str] = frozenset()
    faults_under: frozenset[str] = frozenset()
    startup_s: Mapping[str, float] = field(default_factory=dict)
    step_factor: Mapping[str, float] = field(default_factory=dict)
    answer_share: Mapping[str, float] = field(default_factory=dict)


def names_of(config: Any, speculation: Speculation | None) -> frozenset[str]:
    """Return the names by which settings may mean a profile."""
    if speculation is None:
        return frozenset({NO_SPECULATION})
    given = config if isinstance(config, dict) else {}
    model = str(given.get("model") or "")
    names = {speculation.method, str(given.get("method") or ""), model, *model.split("/")}
    return frozenset(names - {""})


def value_under(names: frozenset[str], values: Mapping[str, float], default: float) -> float:
    """Return the first value that is for a profile with one of these names."""
    return next((value for name, value in values.items() if name in names), default)


def refuse(config: Any, speculation: Speculation | None, *, by_pydantic: bool) -> None:
    """Refuse a config as the engine refuses a head for a kind of target that it does not serve.

    Raises:
        StartError: Always.
    """
    method = speculation.method if speculation else NO_SPECULATION
    value_error(
        config,
        f"{method} is only supported for {_TARGETS_OF_HEADS} models. "
        "Got self.target_model_config.hf_text_config.model_type='stand_in'",
        by_pydantic=by_pydantic,
    )


def misfit() -> StartError:
    """A drafter whose weights have another shape than the target's."""
    return engine_core_error(
        "Error(s) in loading state_dict: size mismatch for lm_head.weight: copying a param with "
        "shape torch.Size([32000, 4096]) from checkpoint, the shape in current model is "
        "torch.Size([128256, 4096]).",
        kind="RuntimeError",
    )


def killed() -> StartError:
    """A death that leaves no word: the kernel took the memory back."""
    return StartError("", exit_code=KILLED, after_load=True)


def boot_factor(spread: float, seed: int, name: str) -> float:
    """Return what one boot's step durations are multiplied by.

    The same configuration differs from boot to boot, since kernels are tuned at each start.

    Args:
        spread: Largest deviation from 1, as a share.
        seed: Seed of all draws.
        name: Name of the Pod: its containers draw the same each time.

    Returns:
        A number drawn evenly from 1 - spread to 1 + spread.
    """
    return 1.0 + spread * (2.0 * Random(f"{seed}/{name}").random() - 1.0)
