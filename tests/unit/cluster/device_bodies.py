"""Objects of Dynamic Resource Allocation as the API server has them."""

from typing import Any

from ridgeline.cluster.devices import Devices, trim_class, trim_slice, trim_template

DRIVER = "gpu.example.com"
BY_DRIVER = f'device.driver == "{DRIVER}"'

Body = dict[str, Any]


def meta(name: str, namespace: str | None = None, version: int = 1) -> Body:
    where = {} if namespace is None else {"namespace": namespace}
    return {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version), **where}


def node_body(name: str, **labels: str) -> Body:
    return {
        "metadata": {**meta(name), "labels": labels},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def device_body(name: str, kind: str | None = "gpu", **other: Any) -> Body:
    attributes = {} if kind is None else {"type": {"string": kind}, "index": {"int": 0}}
    return {"name": name, "attributes": attributes, **other}


def slice_body(
    name: str,
    *,
    node: str | None = "n",
    devices: int | list[Body] = 4,
    driver: str = DRIVER,
    pool: str | None = None,
    generation: int = 1,
    slices: int = 1,
    **spec: Any,
) -> Body:
    """A slice whose pool is called after its node, as drivers do."""
    listed = (
        [device_body(f"gpu-{index}") for index in range(devices)]
        if isinstance(devices, int)
        else devices
    )
    return {
        "metadata": meta(name),
        "spec": {
            "driver": driver,
            "pool": {
                "name": pool or node or name,
                "generation": generation,
                "resourceSliceCount": slices,
            },
            **({"nodeName": node} if node is not None else {}),
            "devices": listed,
            **spec,
        },
    }


def claim_body(name: str, *held: tuple[str, str, str], **result: Any) -> Body:
    results = [
        {"request": "gpu", "driver": driver, "pool": pool, "device": device, **result}
        for driver, pool, device in held
    ]
    status = {"allocation": {"devices": {"results": results}}} if held else {}
    return {"metadata": meta(name, "elsewhere"), "spec": {}, "status": status}


def class_body(name: str = DRIVER, *expressions: str) -> Body:
    selectors = [{"cel": {"expression": each}} for each in expressions or (BY_DRIVER,)]
    return {"metadata": meta(name), "spec": {"selectors": selectors}}


def request(count: int | None = 2, device_class: str = DRIVER, **exactly: Any) -> Body:
    counted = {} if count is None else {"count": count}
    return {"name": "gpu", "exactly": {"deviceClassName": device_class, **counted, **exactly}}


def template_body(name: str, *requests: Body, **devices: Any) -> Body:
    asked = {"requests": list(requests or (request(),)), **devices}
    return {"metadata": meta(name, "ns"), "spec": {"spec": {"devices": asked}}}


def published(devices: Devices, *slices: Body, count: int = 2, template: str = "gpu") -> None:
    """Make these slices known, with a class and a template of `count` of its devices."""
    devices.slices.lay_over(0, [trim_slice(each) for each in slices])
    devices.claims.lay_over(0, [])
    devices.classes.lay_over(0, [trim_class(class_body())])
    devices.templates.lay_over(0, [trim_template(template_body(template, request(count)))])
