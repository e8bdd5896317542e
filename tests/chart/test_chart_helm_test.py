"""`helm test`: it runs the operator's own image and account, with one right more and no other."""

from __future__ import annotations

import pytest
import typer

from ridgeline.cli.main import app
from tests.chart.rendering import (
    NAMESPACE,
    Chart,
    Object,
    container_of,
    of_kind,
    one,
    pod_of,
)
from tests.chart.test_chart_rbac import grants

SHARED = ("serviceAccountName", "securityContext", "volumes", "nodeSelector", "imagePullSecrets")


def parts(chart: Chart, file: str | None = None, **values: object) -> list[Object]:
    """What is there for the time of the test only."""
    return chart.hooks(values, file=file)


def test_it_asks_what_the_command_line_takes(chart_test: Object) -> None:
    (container,) = chart_test["spec"]["containers"]
    name, *options = container["args"]
    group = typer.main.get_command(app)
    command = group.commands[name]  # type: ignore[attr-defined]
    known = {option for each in command.params for option in each.opts}
    assert {each.partition("=")[0] for each in options} <= known
    assert "command" not in container


def test_it_expects_the_version_of_the_chart(chart: Chart, chart_test: Object) -> None:
    deployment = one(chart.render(), "Deployment")["metadata"]
    (container,) = chart_test["spec"]["containers"]
    assert (
        f"--expect-version={deployment['labels']['app.kubernetes.io/version']}"
        in (container["args"])
    )
    assert f"--deployment={deployment['name']}" in container["args"]


@pytest.mark.parametrize("file", [None, "everything", "observed", "bare"])
def test_it_is_as_the_operator_is(chart: Chart, file: str | None) -> None:
    objects, pod = chart.render(file=file), one(parts(chart, file), "Pod")
    operator, (container,) = container_of(objects), pod["spec"]["containers"]
    for key in SHARED:
        assert pod["spec"].get(key) == pod_of(objects)["spec"].get(key), key
    for key in ("image", "imagePullPolicy", "volumeMounts", "securityContext", "resources"):
        assert container.get(key) == operator.get(key), key
    assert pod["spec"]["restartPolicy"] == "Never"
    config = next(each for each in container["args"] if each.startswith("--config="))
    assert config in operator["args"]


def test_its_one_right_lasts_as_long_as_it(chart: Chart) -> None:
    role, binding = one(parts(chart), "Role"), one(parts(chart), "RoleBinding")
    assert grants(role) == {"apps/deployments": {"get"}}
    assert role["rules"][0]["resourceNames"] == [
        one(chart.render(), "Deployment")["metadata"]["name"]
    ]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "ridgeline", "namespace": NAMESPACE}
    ]
    for each in (role, binding):
        assert "hook-succeeded" in each["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
        assert int(each["metadata"]["annotations"]["helm.sh/hook-weight"]) < 0


def test_everything_of_it_is_made_for_the_test_and_nothing_else(chart: Chart) -> None:
    found = parts(chart)
    assert {each["kind"] for each in found} == {"Role", "RoleBinding", "Pod"}
    for each in found:
        annotations = each["metadata"]["annotations"]
        assert annotations["helm.sh/hook"] == "test"
        assert "before-hook-creation" in annotations["helm.sh/hook-delete-policy"]
        assert each["metadata"]["namespace"] == NAMESPACE


def test_who_makes_no_roles_gets_none_for_it(chart: Chart) -> None:
    found = parts(chart, rbac={"create": False})
    assert not of_kind(found, "Role")
    assert of_kind(found, "Pod")
