"""Options that several commands have, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

from ridgeline.terms.precision import Precision

ManifestFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        "-f",
        help="YAML file with a SpeculativeServing, its Deployment, and the policy and "
        "AcceleratorProfiles that they use; may be given several times.",
    ),
]
NamedServing = Annotated[
    str | None, typer.Option(help="Name of the serving, where the files hold several.")
]
ServedModelName = Annotated[str | None, typer.Option(help="Served model: a name of the catalogue.")]
GpuName = Annotated[
    str | None, typer.Option(help="GPU: a name of the catalogue, such as h100-sxm.")
]
SpannedGpus = Annotated[
    int | None, typer.Option(min=1, max=1024, help="GPUs that one engine spans; else 1.")
]
WeightPrecision = Annotated[
    Precision | None,
    typer.Option(case_sensitive=False, help="Of the weights; else as the name tells, or BF16."),
]
ReportFile = Annotated[Path | None, typer.Option(help="Also write a report into this file, .html.")]
