"""A gauge with one series for each serving, which is found without a look through all of them."""

from prometheus_client import CollectorRegistry, Gauge

from ridgeline.cluster.store import Key

SERVING_LABELS = ("namespace", "serving")


class ServingGauge:
    """Keeps the series of each serving at hand: a thousand are set in every tick."""

    def __init__(self, name: str, description: str, registry: CollectorRegistry) -> None:
        self._gauge = Gauge(name, description, SERVING_LABELS, registry=registry)
        self._series: dict[Key, Gauge] = {}

    def tell(self, key: Key, value: float | None) -> None:
        """Set the number of a serving; `None` where it is not known drops its series."""
        if value is None:
            self.forget(key)
            return
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = self._gauge.labels(*key)
        series.set(value)

    def forget(self, key: Key) -> None:
        """Drop the series of a serving that is gone, or not known any more."""
        if self._series.pop(key, None) is not None:
            self._gauge.remove(*key)
