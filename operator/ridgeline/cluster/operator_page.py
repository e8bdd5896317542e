"""Pages of the operator's own port, through the API server's proxy and with a person's rights."""

from typing import Any, Final
from urllib.parse import quote

from ridgeline.cluster.api import KubernetesApi, path_of

PORT: Final = "http"
"""Name of the port in the operator's Service."""


def proxied_name(service: str) -> str:
    """Return the name that a Role must give for `services/proxy` of a Service."""
    return f"http:{service}:{PORT}"


async def operator_page(
    api: KubernetesApi, namespace: str, service: str, page: str
) -> dict[str, Any]:
    """Read a page of the operator, which must be a JSON object.

    Args:
        api: The API server, with the person's credentials.
        namespace: Namespace of the operator's Service.
        service: Its name.
        page: The path, without its first slash.

    Raises:
        RefusedError: The person may not use the proxy of this Service.
        NotFoundError: There is no such Service, or the operator does not have the page.
        ClusterError: Another failure, see `errors`.
    """
    root = f"/api/v1/namespaces/{quote(namespace, safe='')}/services/"
    name = quote(proxied_name(service), safe=":")
    return await api.request("GET", f"{root}{name}/proxy/{quote(page)}")


async def operator_lease(api: KubernetesApi, namespace: str, name: str) -> dict[str, Any]:
    """Read the Lease of the operator.

    Raises:
        ClusterError: See `errors`.
    """
    return await api.request("GET", path_of("coordination.k8s.io/v1", "leases", namespace, name))
