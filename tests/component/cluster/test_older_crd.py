"""A CRD that is older than the operator has no place for every field of a status."""

import pytest

from ridgeline.cluster.api import KubernetesApi, path_of
from ridgeline.cluster.errors import UndeclaredFieldError
from ridgeline.cluster.reporting import ReportingApi
from ridgeline.policy.facts import Problem
from ridgeline.policy.status import status_document
from ridgeline.terms.names import API_VERSION, SERVING_PLURAL
from ridgeline.terms.reasons import Reason
from tests.component.cluster.test_reports import made
from tests.unit.policy.moments import facts
from tests.unit.policy.reports import report

pytestmark = pytest.mark.usefixtures("crds")


async def test_a_status_is_told_as_far_as_the_crd_goes(
    api: KubernetesApi, room: str, name: str
) -> None:
    item = await made(api, room, name)
    problem = Problem(reason=Reason.TARGET_NOT_FOUND, message="none")
    known = status_document(report(facts(target=problem)), {})
    first, *others = known["conditions"]
    newer = {
        **known,
        "future": {"word": "new"},
        "another": [1, 2],
        "lastDecision": {**known["lastDecision"], "future": 3},
        "conditions": [{**first, "future": True}, *others],
    }

    written = await ReportingApi(api, instance="test").apply_status(item, newer)

    assert written.status == known


async def test_another_field_of_ours_is_not_left_out_in_silence(
    api: KubernetesApi, room: str, name: str
) -> None:
    await made(api, room, name)
    body = {
        "apiVersion": API_VERSION,
        "kind": "SpeculativeServing",
        "metadata": {"name": name, "namespace": room},
        "spec": {"future": 3},
    }
    path = path_of(API_VERSION, SERVING_PLURAL, room, name)
    with pytest.raises(UndeclaredFieldError, match=r"older than the operator.*apply crds/"):
        await api.apply(path, body, manager="test", force=True)
