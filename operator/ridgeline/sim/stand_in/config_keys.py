"""The keys of a speculative config by themselves: which are known, and what they may hold."""

from typing import Any

from ridgeline.sim.stand_in.contract import ConfigKey, EngineContract
from ridgeline.sim.stand_in.failures import plain_error, validation_error, value_error


def known_keys(config: dict[str, Any], contract: EngineContract) -> dict[str, Any]:
    """Return the keys that the release reads, by the names that it gives them.

    Raises:
        StartError: The release ends the start at a key that it does not know.
    """
    if contract.dashed_keys:
        config = {key.replace("-", "_"): value for key, value in config.items()}
    unknown = [key for key in config if key not in contract.keys]
    if unknown and not contract.ignores_unknown_keys:
        if not contract.validates_types:
            raise plain_error(
                "TypeError",
                f"SpeculativeConfig.__init__() got an unexpected keyword argument '{unknown[0]}'",
            )
        raise validation_error(
            location=unknown[0],
            message="Unexpected keyword argument",
            kind="unexpected_keyword_argument",
            value=config[unknown[0]],
        )
    return {key: value for key, value in config.items() if key in contract.keys}


_KINDS: dict[str, tuple[type, ...]] = {
    "Whole": (int,),
    "Number": (int, float),
    "Switch": (bool,),
    "Text": (str,),
    "Numbers": (list,),
    "Object": (dict,),
}
_NOUNS = {
    "Whole": "integer",
    "Number": "number",
    "Switch": "boolean",
    "Text": "string",
    "Numbers": "list",
    "Object": "dictionary",
}


def check_types(config: dict[str, Any], contract: EngineContract) -> None:
    """Check each value as pydantic does.

    Raises:
        StartError: A value has the wrong type, or is outside of its bounds or choices.
    """
    for name, value in config.items():
        key = contract.keys[name]
        if value is None or key.type not in _KINDS or name == "method":
            continue
        if not isinstance(value, _KINDS[key.type]) and not _reads_as_number(value, key):
            noun = _NOUNS[key.type]
            raise validation_error(
                location=name,
                message=f"Input should be a valid {noun}",
                kind=f"{noun}_type",
                value=value,
            )
        _check_choice(name, value, key)
        if contract.bounds_by_pydantic:
            _check_bounds(name, value, key)
    _check_schedule_shape(config.get("num_speculative_tokens_per_batch_size"))


def _check_choice(name: str, value: Any, key: ConfigKey) -> None:
    if key.choices and value not in key.choices:
        raise validation_error(
            location=name,
            message=f"Input should be {' or '.join(map(repr, key.choices))}",
            kind="literal_error",
            value=value,
        )


def _check_bounds(name: str, value: Any, key: ConfigKey) -> None:
    words = out_of_bounds(value, key)
    if words is not None and name != "num_speculative_tokens":  # its own check has its own message
        raise validation_error(
            location=name,
            message=f"Input should be {words}",
            kind=f"{words.split()[0]}_than_equal",
            value=value,
        )


def out_of_bounds(value: Any, key: ConfigKey) -> str | None:
    """Return what a number, or each of a list, should be; None when it is."""
    for number in value if isinstance(value, list) else [value]:
        if key.minimum is not None and float(number) < key.minimum:
            return f"greater than or equal to {key.minimum:g}"
        if key.maximum is not None and float(number) > key.maximum:
            return f"less than or equal to {key.maximum:g}"
    return None


def check_methods(config: dict[str, Any], method: str, contract: EngineContract) -> None:
    """Check that each key goes with the method.

    Raises:
        StartError: One does not.
    """
    for name, value in config.items():
        wanted = contract.keys[name].methods
        if wanted and value is not None and method not in wanted:
            message = f"{name} is only supported with method={' or '.join(map(repr, wanted))}"
            value_error(config, message, by_pydantic=contract.validates_types)


def _reads_as_number(value: Any, key: ConfigKey) -> bool:
    """Pydantic's lax mode takes digits in a string for a number."""
    return key.type == "Whole" and isinstance(value, str) and value.strip().lstrip("-").isdigit()


def _check_schedule_shape(schedule: Any) -> None:
    if schedule is None:
        return
    rows = schedule if isinstance(schedule, list) else [schedule]
    bad = [
        row
        for row in rows
        if not (isinstance(row, list) and len(row) == 3 and all(isinstance(n, int) for n in row))
    ]
    if bad or not isinstance(schedule, list):
        raise validation_error(
            location="num_speculative_tokens_per_batch_size",
            message="Input should be a valid list of [start, end, K]",
            kind="list_type",
            value=bad[0],
        )
