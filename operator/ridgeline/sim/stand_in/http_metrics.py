"""The ``http_*`` families that vLLM's web framework adds to the page, with its buckets."""

from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import CollectorRegistry, Counter, Histogram, Summary

_FINE_BUCKETS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0),
    *(2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 7.5, 10.0, 30.0, 60.0),
)
_COARSE_BUCKETS = (0.1, 0.5, 1.0)
_NOT_COUNTED = frozenset({"/health", "/version", "/metrics"})


def http_metrics_middleware(registry: CollectorRegistry, clock: Callable[[], float]) -> Middleware:
    """A middleware that counts, measures and times requests to the routes of the API."""
    requests = Counter(
        "http_requests", "Requests.", ("method", "status", "handler"), registry=registry
    )
    received = Summary("http_request_size_bytes", "Received.", ("handler",), registry=registry)
    sent = Summary("http_response_size_bytes", "Sent.", ("handler",), registry=registry)
    fine = Histogram(
        "http_request_duration_highr_seconds", "Time.", buckets=_FINE_BUCKETS, registry=registry
    )
    coarse = Histogram(
        "http_request_duration_seconds",
        "Time by handler.",
        ("handler", "method"),
        buckets=_COARSE_BUCKETS,
        registry=registry,
    )

    @web.middleware
    async def measure(request: web.Request, handler: Handler) -> web.StreamResponse:
        resource = request.match_info.route.resource
        path = resource.canonical if resource is not None else "none"
        if path in _NOT_COUNTED:
            return await handler(request)
        started, status, size = clock(), 500, 0
        try:
            response = await handler(request)
            status = response.status
            size = response.content_length or 0
        except web.HTTPException as refusal:
            status = refusal.status
            raise
        finally:
            requests.labels(request.method, f"{status // 100}xx", path).inc()
            received.labels(path).observe(request.content_length or 0)
            sent.labels(path).observe(size)
            fine.observe(clock() - started)
            coarse.labels(path, request.method).observe(clock() - started)
        return response

    return measure
