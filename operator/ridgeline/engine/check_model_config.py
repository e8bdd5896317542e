"""What a `config.json` tells the checks: of a target, a head or a draft model.

Keys are those that transformers, the EAGLE authors and the speculators library write; a value of
another kind than expected counts as not told.
"""

from collections.abc import Mapping
from typing import Final

from ridgeline.engine.check_subject import CheckedModel

_MTP_LAYERS: Final = (
    "num_nextn_predict_layers",
    "mtp_num_hidden_layers",
    "num_mtp_modules",
    "num_mtp_layers",
)
_TEXT_PARTS: Final = ("text_config", "llm_config", "transformer_layer_config")
_SPECULATORS: Final = ("speculators_config", "speculators_model_type")


def checked_model(config: Mapping[str, object], name: str) -> CheckedModel:
    """Return what a parsed `config.json` tells.

    A model for several media is read by its text part, a head of the speculators library by its
    layer. The hidden size of a head is the target's where the head names it apart
    (`target_hidden_size`). MTP layers that no key tells are not known, rather than none.

    Args:
        config: The parsed file.
        name: The model's name.
    """
    inner = next((config[part] for part in _TEXT_PARTS if isinstance(config.get(part), dict)), None)
    told = {**config, **inner} if isinstance(inner, dict) else config
    model_type = told.get("model_type")
    return CheckedModel(
        name=name,
        vocabulary=_whole(told.get("vocab_size")),
        hidden=_whole(told.get("target_hidden_size")) or _whole(told.get("hidden_size")),
        model_type=model_type if isinstance(model_type, str) else "",
        mtp_layers=_mtp_layers(told),
        trained_lookahead=_trained_lookahead(config),
        speculators=any(key in config for key in _SPECULATORS),
    )


def _mtp_layers(config: Mapping[str, object]) -> int | None:
    told = (config.get(key) for key in _MTP_LAYERS)
    return next((n for n in told if isinstance(n, int) and not isinstance(n, bool)), None)


def _trained_lookahead(config: Mapping[str, object]) -> int | None:
    """Return the longest draft that a head of the speculators library proposes."""
    speculators = config.get("speculators_config")
    methods = speculators.get("proposal_methods") if isinstance(speculators, dict) else None
    rows = [row for row in methods if isinstance(row, dict)] if isinstance(methods, list) else []
    told = [_whole(row.get("speculative_tokens")) for row in rows]
    return max((n for n in told if n is not None), default=None)


def _whole(value: object) -> int | None:
    right = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return value if right and isinstance(value, int) else None
