"""Every fault at every step of a roll leaves the target whole, and the docs say how each ends."""

import pytest

from tests.component.controller.fault_matrix import FAULTS, STEPS, outcome
from tests.tools.fault_matrix import PAGE, cell

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("step", STEPS)
async def test_a_fault_in_a_roll_leaves_one_profile_complete_and_nothing_paused(
    step: str, fault: str
) -> None:
    found = await outcome(step, fault)
    assert found.whole, found
    assert found.state in ("Finished", "Restored", "Abandoned", "no serving"), found
    assert cell(step, fault, PAGE.read_text(encoding="utf-8")) == found.told()
    if fault != "a server crashes":
        # maxUnavailable 0: no fault of the operator or of what it asks costs a replica.
        assert found.least_serving >= 4, found
