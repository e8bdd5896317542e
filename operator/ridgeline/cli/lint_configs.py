"""`config.json` files of served models, heads and draft models, as options name them."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ridgeline.cli.cutoff_flags import FlagError
from ridgeline.cli.lint_files import LintInputError, text_of
from ridgeline.engine.check_model_config import checked_model
from ridgeline.engine.check_subject import CheckedModel
from ridgeline.engine.spelling_quotes import on_one_line
from ridgeline.settings.model_config import UnreadableConfig, facts_of_config
from ridgeline.settings.target_model import TargetModel

TARGET_OPTION: Final = "--model-config"
DRAFT_OPTION: Final = "--draft-config"

_PROFILE: Final = re.compile(r"([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)=(.+)", re.DOTALL)


def target_config(path: str, name: str) -> tuple[CheckedModel, TargetModel | None]:
    """Return what a served model's file tells the checks, and the cost model where it is enough.

    Args:
        path: The file.
        name: The model's name.

    Raises:
        LintInputError: It cannot be read, or is no `config.json`.
    """
    config = _object(TARGET_OPTION, path)
    facts = facts_of_config(config, name)
    model = None
    if not isinstance(facts, UnreadableConfig):
        model = TargetModel(shape=facts.shape(), facts=facts, found_by=TARGET_OPTION)
    return checked_model(config, name), model


def draft_configs(texts: Sequence[str]) -> dict[str, CheckedModel]:
    """Return what files of heads and draft models tell, by profile; the empty name is any other.

    Args:
        texts: Each a file, or a profile and a file as `PROFILE=FILE`.

    Raises:
        FlagError: Two files are for one profile.
        LintInputError: One cannot be read, or is no `config.json`.
    """
    found: dict[str, CheckedModel] = {}
    for text in texts:
        named = _PROFILE.fullmatch(text)
        profile, path = (named[1], named[2]) if named is not None else ("", text)
        if profile in found:
            whose = f"profile {profile}" if profile else "every profile"
            raise FlagError(
                f"{DRAFT_OPTION} {text}: a second file for {whose}: name the profile of each, as "
                "PROFILE=FILE"
            )
        found[profile] = checked_model(_object(DRAFT_OPTION, path), path)
    return found


def _object(option: str, path: str) -> Mapping[str, Any]:
    try:
        config = json.loads(text_of(path))
    except LintInputError as error:
        raise LintInputError(f"{option} {error}") from error
    except (ValueError, RecursionError) as error:
        told = on_one_line(str(error))
        raise LintInputError(f"{option} {path} is not JSON: {told}") from error
    if not isinstance(config, dict):
        raise LintInputError(f"{option} {path} is no config.json: it holds no object")
    return config
