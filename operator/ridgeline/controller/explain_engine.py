"""What a person should know of the engine's release and of each profile on it, for `explain`."""

from ridgeline.controller.basis import Basis
from ridgeline.controller.view import View
from ridgeline.policy.engine_report import release_obstacle

Line = tuple[str, str]


def engine_line(view: View) -> Line:
    """Return the engine's release, and how far it is known."""
    basis, report = view.basis, view.settings.engine
    if basis.engine_version is None:
        return ("engine version", "not known: neither the image's tag nor spec.engine tells it")
    told = f"vLLM {basis.engine_version} ({_source(basis)})"
    if report is not None and not report.verified:
        told += f"; not read by this version of ridgeline, judged as {report.known_as}"
    return ("engine version", told)


def engine_notes(view: View) -> tuple[Line, ...]:
    """Return what the release makes of each profile, and why it is not rolled; often nothing."""
    report = view.settings.engine
    if report is None:
        return ()
    hold = release_obstacle(report)
    found = [] if hold is None else [(hold.reason.value, hold.message)]
    found += [
        (f"profile {name}", sentence)
        for name, sentences in report.notes.items()
        for sentence in sentences
    ]
    found += [
        (f"profile {name}", f"error: {why}")
        for name, why in report.refused.items()
        if not any(sentence.startswith("error:") for sentence in report.notes.get(name, ()))
    ]
    return tuple(found)


def _source(basis: Basis) -> str:
    return "from the image's tag" if basis.engine_from_image else "from spec.engine.version"
