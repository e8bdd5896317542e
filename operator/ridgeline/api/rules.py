"""Rules over several values: one statement for the API server, the models and the docs.

A rule holds its CEL text (the API server's word), its message (what to do) and the same check in
Python: a cluster may still carry the CRD of an older version, so the models do not rely on it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

T = TypeVar("T")

VALIDATIONS = "x-kubernetes-validations"


@dataclass(frozen=True, kw_only=True)
class Rule(Generic[T]):
    """What must hold of a value. As an annotation it guards a field, in `RULES` an object.

    Attributes:
        cel: Kubernetes CEL over `self`; true when the value is accepted.
        message: What is wrong and what to do.
        offence: Returns the part of the value that breaks the rule, `None` when it holds. Itself
            `None` for a rule that compares with the object before the change, which a model
            alone cannot see.
        below: Names that lead from the guarded object to the field at fault.
    """

    cel: str
    message: str
    offence: Callable[[T], object | None] | None
    below: tuple[str, ...] = ()

    def check(self, value: T) -> T:
        """Return the value.

        Raises:
            PydanticCustomError: When the value breaks the rule.
        """
        found = self.offence(value) if self.offence else None
        if found is not None:
            raise _broken(self.message, found, self.below)
        return value

    def validation(self) -> dict[str, str]:
        """Return the rule as an item of `x-kubernetes-validations`."""
        item = {"rule": self.cel, "message": self.message}
        if self.below:
            item["fieldPath"] = "".join(f".{name}" for name in self.below)
        return item

    def __get_pydantic_core_schema__(
        self, source: type[T], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        json_schema = handler(schema)
        json_schema.setdefault(VALIDATIONS, []).append(self.validation())
        return json_schema


@dataclass(frozen=True, slots=True)
class ListMap:
    """Marks a list as a map: its items are merged by a key, and no two share one.

    The API server refuses doubles by itself; the models do it here.

    Attributes:
        key: The key's name in the resource.
    """

    key: str

    def check(self, items: Sequence[Any]) -> Sequence[Any]:
        """Return the items.

        Raises:
            PydanticCustomError: When two items share a key.
        """
        keys = [getattr(item, self.key) for item in items]
        double = next((key for key in keys if keys.count(key) > 1), None)
        if double is not None:
            raise _broken(f"give every item its own {self.key}", double)
        return items

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        json_schema = handler(schema)
        json_schema["x-kubernetes-list-type"] = "map"
        json_schema["x-kubernetes-list-map-keys"] = [self.key]
        return json_schema


@dataclass(frozen=True, slots=True)
class AtomicList:
    """Marks a list that is replaced as a whole, since the order of its items has a meaning."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        json_schema = handler(schema)
        json_schema["x-kubernetes-list-type"] = "atomic"
        return json_schema


def _broken(message: str, offence: object, below: tuple[str, ...] = ()) -> PydanticCustomError:
    return PydanticCustomError(
        "rule", "{message}", {"message": message, "offence": offence, "below": below}
    )
