"""The style of the HTML page: light, dark and on paper, on wide and on narrow screens."""

from __future__ import annotations

from typing import Final

_LIGHT: Final = ("#0b62b0", "#b3400c", "#1e7a3c", "#8a3a9e", "#7a6200", "#a3243f", "#00727a",
                 "#555d66")  # fmt: skip
_DARK: Final = ("#6db3f2", "#f0965a", "#6fca8a", "#cf92e0", "#d9bd4a", "#f08298", "#54c7cf",
                "#a9b2bc")  # fmt: skip


_NAMES: Final = ("text", "dim", "line", "page", "soft", "warn")


def _palette(*colours: str) -> str:
    """The variables of the colours, in the order of ``_NAMES``, and then of the lines of charts."""
    names = (*_NAMES, *(f"c{n}" for n in range(len(_LIGHT))))
    return ";".join(f"--{name}:{of}" for name, of in zip(names, colours, strict=True))


LIGHT: Final = _palette("#1b1f24", "#59636e", "#d5dae0", "#fff", "#f3f5f7", "#8a4b00", *_LIGHT)
DARK: Final = _palette("#e3e7eb", "#9aa4ae", "#3a424b", "#14171a", "#1f2429", "#f0b465", *_DARK)

_LINES: Final = "".join(
    f"path.c{n}{{stroke:var(--c{n})}}.k{n}::before{{border-color:var(--c{n})}}"
    for n in range(len(_LIGHT))
)

STYLE: Final = (
    f":root{{color-scheme:light dark;{LIGHT}}}"
    f"@media(prefers-color-scheme:dark){{:root{{{DARK}}}}}"
    """
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:1.5rem 1rem 3rem;color:var(--text);
 background:var(--page);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.2;margin:0}
h2{font-size:1.25rem;margin:2.2rem 0 .6rem;padding-bottom:.2rem;
 border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin:1.4rem 0 .4rem}
p{margin:.5rem 0}
.about,.end,.more{color:var(--dim)}
.end{margin-top:3rem;font-size:.85rem}
.warn{border-left:4px solid var(--warn);padding:.3rem .8rem;background:var(--soft)}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86em}
pre{margin:.5rem 0;padding:.6rem .8rem;background:var(--soft);border-radius:4px;
 white-space:pre-wrap}
.tag{display:inline-block;margin-left:.5rem;padding:0 .5rem;border:1px solid var(--line);
 border-radius:1rem;font-size:.8rem;font-weight:400;color:var(--dim)}
dl{display:grid;grid-template-columns:minmax(6rem,max-content) 1fr;gap:.15rem 1rem;margin:.5rem 0}
dt{color:var(--dim)}
dd{margin:0;min-width:0}
.wide{overflow-x:auto;margin:.6rem 0}
table{border-collapse:collapse;font-size:.92rem;min-width:50%}
th,td{padding:.25rem .9rem .25rem 0;text-align:left;vertical-align:top;
 border-bottom:1px solid var(--line)}
th{color:var(--dim);font-weight:600;white-space:nowrap}
table{overflow-wrap:break-word}
th.n,td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td{min-width:4rem}
td code{white-space:pre-wrap}
pre.src{white-space:pre;overflow-x:auto;padding:.4rem 0;line-height:1.35}
.src span{display:inline-block;min-width:100%;border-left:4px solid transparent}
.src b{display:inline-block;width:4em;padding-right:.8em;text-align:right;font-weight:400;
 color:var(--dim)}
.src u{display:inline-block;width:6em;text-decoration:none;color:var(--dim);font-size:.85em}
.src .hit{border-color:var(--c2)}
.src .miss{border-color:var(--c5);background:color-mix(in srgb,var(--c5) 9%,transparent)}
.src .reach{border-color:var(--c5);border-left-style:dashed}
.src .left u{color:var(--c1)}
.src .bad{background:color-mix(in srgb,var(--c5) 22%,transparent);font-weight:600}
.src i{padding-left:11.4em;color:var(--c1);font-style:normal}
summary{cursor:pointer;padding:.2rem 0}
details{margin:.3rem 0}
details[open]>summary{margin-bottom:.3rem}
details>:not(summary){margin-left:1rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));
 gap:1.2rem 2rem}
figure.chart{margin:0;min-width:0}
figcaption{font-size:.92rem;font-weight:600;margin-bottom:.9rem}
.k{font-weight:400;color:var(--dim);margin-left:.8rem;white-space:nowrap;display:inline-block}
.last{margin-left:.8rem}
.k b{color:var(--text);font-weight:600}
.k::before{content:"";display:inline-block;width:1.1rem;border-top:2.5px solid;
 vertical-align:.25em;margin-right:.35rem}
.k.dashed::before{border-top-style:dashed}
.plot{position:relative;margin-left:3.2rem;height:9rem}
.plot svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.plot path{fill:none;stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round}
.plot path.grid{stroke:var(--line);stroke-width:1}
.plot path.mark{stroke:var(--dim);stroke-width:1;stroke-dasharray:3 3}
.y,.m{position:absolute;font-size:.75rem;color:var(--dim);white-space:nowrap}
.y{right:100%;padding-right:.5rem;transform:translateY(-50%)}
.m{top:-1.1rem}
.x{display:flex;justify-content:space-between;margin-left:3.2rem;padding-top:.3rem;
 font-size:.75rem;color:var(--dim)}
""" + _LINES + """
@media(max-width:36rem){body{padding:1rem .8rem 2rem}dl{grid-template-columns:1fr;gap:0}
 dd{margin-bottom:.4rem}td:last-child:not(.n){min-width:11rem}
 td,th{padding-right:.6rem}details>:not(summary){margin-left:.3rem}}
"""
    f"@media print{{:root{{color-scheme:light;{LIGHT}}}"
    """
html{font-size:9pt}
body{max-width:none;padding:0}
.charts{grid-template-columns:1fr 1fr}
.plot{height:7rem}
table{font-size:.85rem}
h2,h3,summary{break-after:avoid}
figure.chart,tr,pre{break-inside:avoid}
.wide{overflow:visible}
table{overflow-wrap:anywhere}
details::details-content{content-visibility:visible;block-size:auto}}
"""
)
