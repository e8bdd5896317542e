"""The model, the GPU and the release that a person named, with what to do where there is none."""

import os
from collections.abc import Sequence
from pathlib import Path

import yaml

from ridgeline.api.accelerator import parse_accelerator
from ridgeline.api.errors import InvalidObject
from ridgeline.cli.cutoff_flags import FlagError
from ridgeline.cli.lint_yaml import NOT_A_VALUE, not_a_value
from ridgeline.cli.model_files import read_config
from ridgeline.costmodel.accelerator import Accelerator
from ridgeline.engine.contract import EngineContract, contract_of
from ridgeline.engine.flags import precision_hint
from ridgeline.settings.advise_gpu import UnknownGpu, gpu_of
from ridgeline.settings.advise_model import (
    AdvisedModel,
    NoModel,
    model_of_config,
    model_of_name,
)
from ridgeline.settings.catalogue import AcceleratorOverride, load_catalogue, override_of
from ridgeline.settings.engine_contract import load_engine_contracts
from ridgeline.terms.names import ACCELERATOR_KIND
from ridgeline.terms.precision import Precision

_LARGEST = 4 * 1024 * 1024


def model_of(text: str) -> AdvisedModel:
    """Return the model of a name, or of a `config.json`.

    Raises:
        FlagError: Nobody knows it; the message has the nearest names.
        ModelFileError: The file cannot be read.
    """
    if text.endswith(".json") or os.path.isfile(Path(text, "config.json")):
        config, name = read_config(text)
        found = model_of_config(config, name)
    else:
        found = model_of_name(text)
    if isinstance(found, NoModel):
        raise FlagError(f"--model {text}: {found.message}")
    return found


def accelerator_of(name: str, files: Sequence[Path]) -> tuple[Accelerator, tuple[str, ...]]:
    """Return the GPU of a name, and what a person should know of it.

    Args:
        name: Value of `--accelerator`.
        files: YAML files with AcceleratorProfiles, which go before the catalogue.

    Raises:
        FlagError: Nobody knows it, or a file cannot be read.
    """
    overrides = [each for file in files for each in _overrides(file)]
    found = gpu_of(name, load_catalogue().with_overrides(overrides))
    if isinstance(found, UnknownGpu):
        raise FlagError(f"--accelerator {name}: {found.message}, and give it as --accelerator-file")
    gpu = found.accelerator
    unchecked = f"the figures of {gpu.name} are {gpu.source} and were not checked"
    return gpu, tuple(note for note in (found.note, "" if gpu.checked else unchecked) if note)


def _overrides(file: Path) -> list[AcceleratorOverride]:
    try:
        with file.open("rb") as opened:
            text = opened.read(_LARGEST + 1).decode("utf-8")
        bodies = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
    except OSError as error:
        raise FlagError(f"--accelerator-file {file} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise FlagError(
            f"--accelerator-file {file} is not YAML: give {ACCELERATOR_KIND}s"
        ) from error
    except NOT_A_VALUE as error:
        raise FlagError(
            f"--accelerator-file {file} cannot be read: {not_a_value(error)}"
        ) from error
    chosen = [each for each in bodies if each.get("kind") == ACCELERATOR_KIND]
    if not chosen:
        raise FlagError(f"--accelerator-file {file}: there is no {ACCELERATOR_KIND} in it")
    try:
        return [override_of(parse_accelerator(each, strict=True)) for each in chosen]
    except InvalidObject as error:
        raise FlagError(f"--accelerator-file {file}: {error}") from error


def contract_of_flag(version: str | None) -> EngineContract:
    """Return what a release accepts; the newest known one for `None`."""
    return contract_of(load_engine_contracts(), version)


def precision_of(told: Precision | None, model: AdvisedModel, text: str) -> tuple[Precision, str]:
    """Return the precision of the weights, and what told it.

    Args:
        told: Value of `--precision`.
        model: The model.
        text: Value of `--model`, whose name may tell.
    """
    if told is not None:
        return told, "--precision"
    if model.precision.precision is not None:
        return model.precision.precision, model.precision.because
    hint = precision_hint(("--model", text))
    return hint.precision, hint.because
