"""Reports for the tests of pages: one of every kind of block, and one with hostile texts."""

from dataclasses import replace

from ridgeline.render.report import (
    Axis,
    Chart,
    Facts,
    Lane,
    Lanes,
    Line,
    Mark,
    Report,
    Section,
    Span,
    Table,
)

HOSTILE = (
    "<script>document.title='taken'</script>",
    '"><img src=x onerror="document.title=\'taken\'">',
    "'><svg onload=document.title='taken'>",
    "</style><script>document.title='taken'</script>",
    "</title></svg><script>document.title='taken'</script>",
    "javascript:document.title='taken'",
    "&lt;b&gt; stays as it is",
    "a\u202egnirts\u2066 that turns \x00 and \x1b[31m\ud800",
    "x" * 4000,
)


def report(name: str = "llama") -> Report:
    """A report in which a name from outside stands wherever one can."""
    chart = Chart(
        title=f"Load of {name}",
        summary=f"Load of {name} over a day.",
        x_label="time",
        y_label="requests per second",
        axis=Axis.ELAPSED,
        lines=(
            Line(name=f"asked of {name}", x=(0.0, 3600.0, 7200.0), y=(1.0, None, 3.0)),
            Line(name="limit", x=(0.0, 7200.0), y=(2.0, 2.0), colour=7, dashed=True),
        ),
        marks=(Mark(x=1800.0, label=name), Mark(x=0.0, until=900.0, label="", colour=3)),
    )
    lanes = Lanes(
        title=f"Profiles of {name}",
        summary=f"Profiles of {name} over a day.",
        lanes=(
            Lane(
                name=name,
                spans=(
                    Span(begins=0.0, ends=3600.0, label=name, colour=0),
                    Span(begins=3600.0, ends=4000.0, label=f"rolling to {name}", colour=None),
                    Span(begins=4000.0, ends=7200.0, label="none", colour=2),
                ),
            ),
        ),
        begins=0.0,
        ends=7200.0,
        axis=Axis.ELAPSED,
    )
    table = Table(
        title=f"Strategies for {name}",
        columns=("strategy", name, "rolls"),
        rows=((name, "1.5 s", "3"), ("none", name, "0")),
        numeric=(1, 2),
        strong=(0,),
    )
    section = Section(
        title=f"Serving {name}",
        paragraphs=(f"This is {name}.",),
        blocks=(
            chart,
            lanes,
            table,
            replace(table, folded=True),
            Facts(title="Facts", rows=((name, name),)),
        ),
    )
    return Report(
        title=f"Report of {name}",
        subtitle=f"About {name}",
        summary=(f"{name} does well.",),
        cautions=(f"{name} may change.",),
        sections=(section, replace(section, title="Another")),
        footer=f"Made for {name}.",
    )
