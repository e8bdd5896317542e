"""How a report looks: light, dark, and on paper."""

from typing import Final

_LIGHT: Final = (
    *("#3b6fb6", "#c2601a", "#2f7d4f", "#a3418f"),
    *("#6b5fb5", "#8a6d1d", "#177f86", "#b03a48"),
)
_DARK: Final = (
    *("#7fb0f0", "#f0a060", "#72c796", "#e08fd0"),
    *("#b0a6f2", "#d9b95c", "#63c8ce", "#f08a96"),
)


def style() -> str:
    """Return the style sheet: no address in it, nothing is loaded."""
    light = "".join(f"--c{index}:{each};" for index, each in enumerate(_LIGHT))
    dark = "".join(f"--c{index}:{each};" for index, each in enumerate(_DARK))
    classes = "".join(
        f".stroke{index}{{stroke:var(--c{index})}}.fill{index}{{fill:var(--c{index})}}"
        f".legend .key{index}{{border-top-color:var(--c{index})}}"
        for index in range(len(_LIGHT))
    )
    return (
        _SHEET.replace("/*light*/", light).replace("/*dark*/", dark).replace("/*classes*/", classes)
    )


_SHEET: Final = """
:root{color-scheme:light dark;--ink:#1d232b;--soft:#56616e;--paper:#fff;--card:#f5f7f9;
--edge:#d5dbe2;--note:#fff6e0;--note-edge:#c98a00;--link:#1f5fae;--onfill:#fff;/*light*/}
@media (prefers-color-scheme:dark){:root{--ink:#e7ebf0;--soft:#a3afbd;--paper:#14181d;
--card:#1d232b;--edge:#3a444f;--note:#2d2613;--note-edge:#d9a53a;--link:#8ab8f5;
--onfill:#10141a;/*dark*/}}
*{box-sizing:border-box}
body{margin:0;overflow-wrap:anywhere;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main,header,footer{max-width:68rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2rem}
h1{font-size:1.75rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.3rem;margin:2.5rem 0 .5rem;border-bottom:1px solid var(--edge);
padding-bottom:.25rem}
h3{font-size:1.05rem;margin:1.5rem 0 .35rem}
p{max-width:46rem}
.subtitle,footer,.legend,.axis-note{color:var(--soft)}
.summary{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;
padding:.25rem 1.25rem;margin:1.25rem 0}
.summary h2,.cautions h2{border:0;margin:.5rem 0 0;font-size:1.05rem}
.summary p:first-of-type{font-size:1.1rem}
.cautions{background:var(--note);border-left:.3rem solid var(--note-edge);border-radius:.25rem;
padding:.5rem 1.25rem;margin:1.25rem 0}
.cautions ul{margin:.25rem 0;padding-left:1.1rem}
a{color:var(--link)}
nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem}
.skip{position:absolute;left:-99rem}
.skip:focus{position:static;display:inline-block;margin:.5rem 1.25rem}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:2px}
figure{margin:1rem 0 1.5rem}
figcaption{font-weight:600}
svg{display:block;width:100%;height:auto;background:var(--paper)}
svg text{font-size:12px;fill:var(--ink)}
svg .tick,svg .axis{fill:var(--soft)}
svg .end{text-anchor:end}svg .middle{text-anchor:middle}
svg .label{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}
svg .grid{stroke:var(--edge);stroke-width:1}
svg .stroke{stroke:var(--soft)}
svg .line{fill:none;stroke-width:2;stroke-linejoin:round}
svg .dashed{stroke-dasharray:6 4}
svg .mark{stroke-width:1.5;stroke-dasharray:2 3}
svg .range{opacity:.16}
svg .span{stroke:var(--paper);stroke-width:1}
svg .onfill{fill:var(--onfill);font-weight:600}
svg .hatch{stroke:var(--ink);stroke-width:2}
svg .underway{stroke:var(--ink);stroke-width:.5}
/*classes*/
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;list-style:none;padding:0;margin:.25rem 0}
.legend span{display:inline-block;width:1.6rem;border-top:4px solid;margin-right:.4rem;
vertical-align:middle}
.legend .dashed{border-top-style:dashed}
.scroll{overflow-x:auto;max-height:28rem}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums;width:100%}
caption{text-align:left;font-weight:600;padding:.25rem 0}
th,td{text-align:left;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--edge);
vertical-align:top;overflow-wrap:break-word}
th.number,td.number{text-align:right;white-space:nowrap}
thead th{color:var(--soft);font-weight:600}
tr.strong{background:var(--card)}
tr.strong th,tr.strong td{font-weight:700}
td.wide{min-width:16rem}
dl{display:grid;grid-template-columns:minmax(0,max-content) minmax(0,1fr)}
dl{gap:.2rem 1.25rem;margin:.5rem 0}
dt{color:var(--soft)}dd{margin:0}
details{margin:.35rem 0}
summary{cursor:pointer;color:var(--link)}
footer{padding-bottom:2.5rem;margin-top:3rem;font-size:.9rem}
@media (max-width:40rem){dl{grid-template-columns:minmax(0,1fr)}dt{margin-top:.5rem}}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media print{:root{color-scheme:light;--ink:#000;--soft:#333;--paper:#fff;--card:#fff;
--edge:#999;--note:#fff;--note-edge:#000;--link:#000;--onfill:#fff;/*light*/}
body{font-size:11pt}main,header,footer{max-width:none;padding:0}nav,.skip{display:none}
figure,tr,.summary,.cautions{break-inside:avoid}h2,h3{break-after:avoid}
details:not([open]){display:none}.scroll{overflow:visible;max-height:none}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""
