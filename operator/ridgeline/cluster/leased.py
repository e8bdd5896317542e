"""The way to the Kubernetes API of one who writes only while it holds the Lease.

What may be written is decided long before the write is sent, and the process may stand still in
between. So the Lease is looked at once more when everything but the sending is done, and no write
is waited for longer than the Lease is still held. A request that was sent in time and arrives late
all the same (a process that was stopped, a proxy that held it) is refused by the API server, when
somebody has written meanwhile: it names the version that was read.
"""

from typing import Final, Protocol

from ridgeline.cluster.api import KubernetesApi
from ridgeline.cluster.errors import LeaseLostError

SPARE_SECONDS: Final = 0.5
"""What is left of the Lease when a write is given up at the latest."""


class Term(Protocol):
    """For how long a Lease is held (`lease.Leadership`)."""

    @property
    def seconds_left(self) -> float:
        """Seconds until somebody else may hold the Lease; 0 when it is not held."""


class LeasedApi(KubernetesApi):
    """Calls by the connection of another; what is more than a read needs the Lease.

    Args:
        api: The connection; it is closed by its owner.
        term: For how long the Lease is held.
    """

    def __init__(self, api: KubernetesApi, term: Term) -> None:
        super().__init__(api.client, api.timeout_seconds, api.rest)
        self._term = term

    def _patience_seconds(self, method: str) -> float:
        """Return after how many seconds a call is given up that is about to be sent.

        Raises:
            LeaseLostError: It is a write, and the Lease is not held for long enough.
        """
        if method == "GET":
            return self.timeout_seconds
        left = self._term.seconds_left - SPARE_SECONDS
        if left <= 0.0:
            raise LeaseLostError("the Lease was lost before a write was sent; its holder goes on")
        return min(self.timeout_seconds, left)
