"""What a shell offers for the values of `ridgeline advise`."""

from ridgeline.settings.catalogue import load_catalogue
from ridgeline.settings.models import load_models
from ridgeline.terms.methods import Method


def models(incomplete: str) -> list[str]:
    """Return names of the catalogue of models that begin so."""
    names = [each.facts.name for each in load_models().entries]
    return [each for each in names if each.startswith(incomplete)]


def accelerators(incomplete: str) -> list[str]:
    """Return names of the catalogue of GPUs that begin so."""
    return [each for each in load_catalogue().names if each.startswith(incomplete)]


def methods(incomplete: str) -> list[str]:
    """Return methods that begin so."""
    names = [each.value for each in Method if each.speculates]
    return [each for each in names if each.startswith(incomplete)]
