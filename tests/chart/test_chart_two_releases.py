"""Two releases side by side, each with namespaces of its own: nothing of one is the other's."""

from __future__ import annotations

import re
from typing import Final

import pytest
import yaml

from ridgeline.settings.config import parse_config
from tests.chart.rendering import CLUSTER_SCOPED, Chart, Object, config_of, of_kind, one
from tests.cluster.paths import REPO

Side = tuple[Object, str, str]
"""Values, release and namespace."""

SHOWN: Final[list[Object]] = [
    yaml.safe_load(block)
    for block in re.findall(
        r"^```yaml\n(.*?)^```$", (REPO / "docs" / "scale.md").read_text(), re.MULTILINE | re.DOTALL
    )
]
"""Values on the page about scale: the first release's, the second's, and an endpoint."""

ENDPOINT: Final = SHOWN[2]
SIDES: Final[dict[str, Side]] = {
    "first": (SHOWN[0] | ENDPOINT, "ridgeline", "ridgeline-a"),
    "another namespace": (SHOWN[1], "ridgeline", "ridgeline-b"),
    "another name": (SHOWN[1], "second", "ridgeline-a"),
    "with CRDs": ({**SHOWN[1], "crds": {"enabled": True}}, "ridgeline", "ridgeline-b"),
}
SECONDS: Final = ("another namespace", "another name")
Releases = dict[str, list[Object]]


@pytest.fixture(scope="module")
def releases(chart: Chart) -> Releases:
    """What the chart renders for each side."""
    return {
        side: chart.render(values, release=release, namespace=namespace)
        for side, (values, release, namespace) in SIDES.items()
    }


def places(releases: Releases, side: str) -> set[tuple[str, str, str]]:
    """Kind, namespace and name of every object."""
    namespace = SIDES[side][2]
    return {
        (
            each["kind"],
            "" if each["kind"] in CLUSTER_SCOPED else each["metadata"].get("namespace", namespace),
            each["metadata"]["name"],
        )
        for each in releases[side]
    }


@pytest.mark.parametrize("second", SECONDS)
def test_no_object_is_made_by_both(releases: Releases, second: str) -> None:
    assert not places(releases, "first") & places(releases, second)


def test_the_second_would_take_the_crds_from_the_first_unless_told_not_to(
    releases: Releases,
) -> None:
    both = places(releases, "first") & places(releases, "with CRDs")
    assert {kind for kind, _, _ in both} == {"CustomResourceDefinition"}


@pytest.mark.parametrize("second", SECONDS)
def test_each_is_elected_by_a_lease_of_its_own_and_watches_its_own(
    releases: Releases, second: str
) -> None:
    configs = [config_of(releases[side]) for side in ("first", second)]
    leases = {(each["lease"]["namespace"], each["lease"]["name"]) for each in configs}
    assert len(leases) == 2
    assert [each["namespaces"] for each in configs] == [["inference", "research"], ["batch"]]
    matchers = parse_config(configs[0]).telemetry[0].matchers
    assert matchers[0].value == "|".join(configs[0]["namespaces"])


@pytest.mark.parametrize("second", SECONDS)
def test_each_guard_is_about_its_own_account(releases: Releases, second: str) -> None:
    guarded = set()
    for side in ("first", second):
        account = one(releases[side], "ServiceAccount")["metadata"]["name"]
        user = f"system:serviceaccount:{SIDES[side][2]}:{account}"
        policy = one(releases[side], "ValidatingAdmissionPolicy")
        (condition,) = policy["spec"]["matchConditions"]
        assert condition["expression"] == f"request.userInfo.username == '{user}'"
        binding = one(releases[side], "ValidatingAdmissionPolicyBinding")
        assert binding["spec"]["policyName"] == policy["metadata"]["name"]
        guarded.add(user)
    assert len(guarded) == 2


@pytest.mark.parametrize("second", SECONDS)
def test_neither_has_a_right_where_the_other_looks(releases: Releases, second: str) -> None:
    for side, other in (("first", second), (second, "first")):
        assert not of_kind(releases[side], "ClusterRole")
        assert not of_kind(releases[side], "ClusterRoleBinding")
        foreign = set(SIDES[other][0]["watchNamespaces"])
        assert not foreign & {place for _, place, _ in places(releases, side)}
