"""Every fault of a bad day, in the order of the table."""

from __future__ import annotations

from typing import Final

from tests.faults.day.api_faults import API_FAULTS
from tests.faults.day.crowd import CROWD_FAULTS
from tests.faults.day.play import Fault
from tests.faults.day.process_faults import PROCESS_FAULTS
from tests.faults.day.telemetry_faults import TELEMETRY_FAULTS
from tests.faults.day.version_faults import VERSION_FAULTS

FAULTS: Final[dict[str, Fault]] = {
    each.name: each
    for each in (*API_FAULTS, *TELEMETRY_FAULTS, *PROCESS_FAULTS, *CROWD_FAULTS, *VERSION_FAULTS)
}
