"""The catalogue of GPUs with the cluster's AcceleratorProfiles laid over it."""

from dataclasses import replace

from ridgeline.api.accelerator import parse_accelerator
from ridgeline.api.errors import InvalidAccelerator
from ridgeline.cluster.surroundings import SpecObject, Surroundings
from ridgeline.settings.accelerators import Catalogue, load_catalogue, override_of
from ridgeline.settings.catalogue import plain


class ClusterCatalogue:
    """Lays the profiles over the catalogue when they have changed."""

    def __init__(self, around: Surroundings | None) -> None:
        self._around = around
        self._changes = 0
        self._shipped = load_catalogue()
        self._overlaid = self._shipped

    def now(self) -> Catalogue:
        """Return the catalogue as it is now; the same object while no profile changes."""
        if self._around is None or self._around.accelerators.changes == self._changes:
            return self._overlaid
        self._changes = self._around.accelerators.changes
        profiles = sorted(self._around.accelerators.all(), key=lambda each: each.name)
        self._overlaid = _overlaid(self._shipped, profiles)
        return self._overlaid


def _overlaid(catalogue: Catalogue, profiles: list[SpecObject]) -> Catalogue:
    overrides, refused = [], dict(catalogue.refused)
    for each in profiles:
        body = {"metadata": {"name": each.name}, "spec": each.spec}
        try:
            overrides.append(override_of(parse_accelerator(body)))
        except InvalidAccelerator as error:
            # The API server refuses such a profile; an older CRD may have let it in.
            refused[plain(each.name)] = f"AcceleratorProfile {each.name} cannot be read: {error}"
    return replace(catalogue, refused=refused).with_overrides(overrides)
