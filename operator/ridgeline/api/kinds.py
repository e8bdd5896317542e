"""The kinds of the group: their names, schemas and columns, in one list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ridgeline.api import columns
from ridgeline.api.accelerator import AcceleratorProfileSpec
from ridgeline.api.fields import ApiModel
from ridgeline.api.policy import SpeculationPolicySpec
from ridgeline.api.spec import SpeculativeServingSpec
from ridgeline.api.status import SpeculativeServingStatus
from ridgeline.terms.names import (
    ACCELERATOR_KIND,
    ACCELERATOR_PLURAL,
    POLICY_KIND,
    POLICY_PLURAL,
    SERVING_KIND,
    SERVING_PLURAL,
)

CATEGORY: Final = "speculation"
"""Category of all kinds: `kubectl get speculation` lists them together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceKind:
    """One kind, as its CustomResourceDefinition and its reference page need it.

    Attributes:
        name: The kind.
        plural: Its plural, as in paths of the API.
        short_name: What people type.
        namespaced: Whether its objects live in namespaces.
        description: What an object of the kind is for, in a sentence.
        spec: Model of the spec.
        status: Model of the status; `None` for a kind that the operator only reads.
        columns: Columns of `kubectl get`.
        remark: What the reference page says beyond the fields, in Markdown.
    """

    name: str
    plural: str
    short_name: str
    namespaced: bool
    description: str
    spec: type[ApiModel]
    status: type[ApiModel] | None = None
    columns: tuple[Mapping[str, Any], ...]
    remark: str = ""


SERVING: Final = ResourceKind(
    name=SERVING_KIND,
    plural=SERVING_PLURAL,
    short_name="sps",
    namespaced=True,
    description="Keeps one vLLM workload on the speculation profile that is best for its load.",
    spec=SpeculativeServingSpec,
    status=SpeculativeServingStatus,
    columns=columns.SERVING,
    remark="""\
A tuning field that the serving does not set is taken from the policy that `spec.policyRef` names,
and only then from the default: cutoff (as a whole), each dwell of stabilization, cooldownSeconds,
maxSwitchesPerDay, each field of objective, schedules (as a whole), telemetry.
""",
)

POLICY: Final = ResourceKind(
    name=POLICY_KIND,
    plural=POLICY_PLURAL,
    short_name="spp",
    namespaced=True,
    description="Tuning that several servings of a namespace share.",
    spec=SpeculationPolicySpec,
    columns=columns.POLICY,
    remark="""\
A serving takes part with `spec.policyRef`. What it sets itself wins; a field that neither sets has
the default. A range of the policy that names a profile which a serving lacks stops that serving
alone, with the reason `SpecInvalid`; a schedule that does is not followed there, with the reason
`ScheduleInvalid`.
""",
)

ACCELERATOR: Final = ResourceKind(
    name=ACCELERATOR_KIND,
    plural=ACCELERATOR_PLURAL,
    short_name="accel",
    namespaced=False,
    description="A GPU that the operator's catalogue lacks, or other figures for one that it has.",
    spec=AcceleratorProfileSpec,
    columns=columns.ACCELERATOR,
    remark="""\
An object with the name of a GPU of the catalogue replaces the fields that it sets and leaves the
others. Any other name adds a GPU, which needs memoryBandwidthGBps and denseBF16TFLOPS. The API
server does not know the catalogue and takes a profile without them; the operator does not use it,
and tells every serving that names it why.
""",
)

KINDS: Final = (SERVING, POLICY, ACCELERATOR)
