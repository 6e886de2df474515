"""How a report looks: one style sheet, no picture, no font of its own, and nothing that is loaded."""

from typing import Final

CSS: Final = """
:root{color-scheme:light dark;--ink:#1d2126;--dim:#5b636d;--page:#fcfcfa;--card:#fff;--rule:#e2e3de;--soft:#f1f2ee;
--wait:#c3cbd6;--model:#2f6690;--stream:#6a8f6b;--denied:#b3261e;--secret:#946200;--tool:#6c4f9c;--branch:#8a3d7f;
--link:#1f5f93;--read:#44505c;--inferred:#8a929b}
@media(prefers-color-scheme:dark){:root{--ink:#e4e6e9;--dim:#a0a8b1;--page:#15181b;--card:#1c2024;--rule:#30363c;
--soft:#23282d;--wait:#4a535e;--model:#6aa9d8;--stream:#8fbf90;--denied:#f2857d;--secret:#e0b050;--tool:#b59be0;
--branch:#d692cb;--link:#8abfe8;--read:#b9c2cb;--inferred:#7d8690}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:1rem}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;
overflow-wrap:anywhere}
header,main,footer,nav{max-width:1200px;margin:0 auto;padding:0 20px}
header{padding-top:36px}
h1{font-size:1.55rem;font-weight:650;margin:0;letter-spacing:-.01em}
h2{font-size:1.2rem;font-weight:650;margin:0 0 .8rem;padding-top:2.6rem}
h3{font-size:1rem;font-weight:650;margin:0}
h4{font-size:.74rem;font-weight:650;margin:0 0 .25rem;text-transform:uppercase;letter-spacing:.06em;color:var(--dim)}
p{margin:.3rem 0}a{color:var(--link);text-decoration-thickness:1px;text-underline-offset:2px}
code,pre,.mono{font:.86rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}
.lead{color:var(--dim)}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.3rem;padding:.7rem 0;margin:1.2rem 0 0;
border-block:1px solid var(--rule)}
.verdict{margin:1.2rem 0 0;padding:.8rem 1rem;border:1px solid var(--rule);border-left:5px solid var(--dim);
border-radius:6px;background:var(--card)}
.verdict pre{font-size:.86rem}.verdict.VERIFIED{border-left-color:var(--stream)}
.verdict.TRUNCATED{border-left-color:var(--secret)}.verdict.BROKEN,.verdict.REJECTED{border-left-color:var(--denied)}
dl.sum{display:grid;grid-template-columns:repeat(auto-fit,minmax(250px,1fr));gap:1px;background:var(--card);
border:1px solid var(--rule);border-radius:8px;overflow:hidden;margin:0}
dl.sum div{box-shadow:0 0 0 1px var(--rule);padding:.65rem .9rem}
dl.sum .all{grid-column:1/-1}
dt{font-size:.8rem;color:var(--dim)}dd{margin:0}dd.big{font-size:1.15rem;font-variant-numeric:tabular-nums}
dd.no{color:var(--denied);font-weight:600}
.wide{overflow-x:auto;margin:.9rem 0}
table{border-collapse:collapse;width:100%;font-size:.92rem}caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.35rem .9rem .35rem 0;border-bottom:1px solid var(--rule)}
th{color:var(--dim);font-weight:500;font-size:.82rem;overflow-wrap:normal}td{min-width:5.5rem}td a{white-space:nowrap}
svg.time{display:block;width:100%;min-width:860px;height:auto;background:var(--card);border:1px solid var(--rule);
border-radius:8px;font:12px system-ui,sans-serif}
svg text{fill:var(--dim)}svg .lane{fill:var(--ink)}svg .count{fill:var(--dim)}
svg .rule,svg .tick{stroke:var(--rule)}svg rect{rx:1.5px}
svg .wait{fill:var(--wait)}svg .model{fill:var(--model)}svg .stream{fill:var(--stream)}svg rect.denied{fill:var(--denied)}
svg path.denied{stroke:var(--denied);stroke-width:2.4;fill:none}svg .secret{fill:var(--secret)}
svg .tool{fill:var(--tool)}svg .input{fill:var(--dim)}
svg line.branch{stroke:var(--branch);stroke-width:1.6}svg text.branch{fill:var(--branch)}
svg .link{fill:none;stroke-width:1.3;opacity:.75}svg .read{stroke:var(--read)}
svg .inferred{stroke:var(--inferred);stroke-dasharray:4 4}
svg a:focus-visible rect,svg a:focus-visible path{outline:2px solid var(--link)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;padding:0;margin:.4rem 0;font-size:.85rem;color:var(--dim)}
.key{display:inline-block;width:.8rem;height:.8rem;margin-right:.4rem;border-radius:2px;vertical-align:-.08rem}
.key.wait{background:var(--wait)}.key.model{background:var(--model)}.key.stream{background:var(--stream)}
.key.denied{background:var(--denied)}.key.secret{background:var(--secret);transform:rotate(45deg) scale(.8)}
.key.tool{background:var(--tool)}
.curve{display:inline-block;width:1.9rem;margin-right:.4rem;border-top:2px solid var(--read);vertical-align:.25rem}
.curve.inferred{border-top:2px dashed var(--inferred)}
.note,.facts,.more,.before{color:var(--dim);font-size:.9rem}
.bad{color:var(--denied)}.branching{color:var(--branch)}
.call{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:.9rem 1.1rem;margin:0 0 1rem}
.where{font-weight:400;color:var(--dim);font-size:.9rem}
.turn{margin:.7rem 0 0;padding:.1rem 0 .1rem .9rem;border-left:3px solid var(--rule)}
.turn.user,.turn.tool{border-left-color:var(--wait)}.turn.reply{border-left-color:var(--model)}
.said{margin:0;font:inherit;white-space:pre-wrap}.none{color:var(--dim)}
.calls,.result{background:var(--soft);border-radius:6px;padding:.45rem .7rem;margin:.45rem 0}
.calls .said,.result .said{font:.86rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.what{margin:0 0 .15rem;font-size:.88rem;color:var(--dim)}.what b{color:var(--tool)}
summary{cursor:pointer}.fold>summary{color:var(--dim);font-size:.92rem}.size{white-space:nowrap;color:var(--link)}
ol.links{list-style:none;padding:0;margin:0}
ol.links li{display:grid;grid-template-columns:minmax(0,1fr) 7.6rem minmax(0,1fr);gap:.1rem .9rem;padding:.45rem 0;
border-bottom:1px solid var(--rule)}
ol.links .how{text-align:center;font-size:.8rem;color:var(--dim);line-height:1.3}
ol.links .how .curve{display:block;width:100%;margin:.45rem 0 .2rem}
.group>summary h3{display:inline}.group{border-top:1px solid var(--rule);padding:.5rem 0}
.ev>summary{display:grid;grid-template-columns:3.6rem 5.2rem 9.6rem 2.6rem minmax(0,1fr);gap:.7rem;list-style:none;
padding:.13rem .3rem;font-size:.88rem;border-radius:4px}
.ev>summary::-webkit-details-marker{display:none}.ev>summary:hover,.ev[open]>summary{background:var(--soft)}
.ev b,.ev i{font-weight:400;font-style:normal;text-align:right;font-variant-numeric:tabular-nums;color:var(--dim)}
.ev b{color:var(--link)}.ev em,.ev u{font-style:normal;text-decoration:none;color:var(--dim)}
.ev summary span{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}.ev[open] summary span{white-space:normal}
.ev.denied summary span,.ev.denied em{color:var(--denied)}.ev.secret em{color:var(--secret)}.ev.branch em{color:var(--branch)}
.ev>pre,.ev>p{margin:.3rem 0 .3rem 1rem}.ev:target>summary{outline:2px solid var(--link)}
.ev{content-visibility:auto;contain-intrinsic-size:auto 1.7rem}
.cols{display:grid;grid-template-columns:1fr 1fr;gap:0 1.4rem}.cols.head{position:sticky;top:0;background:var(--page);
padding:.4rem 0;border-bottom:1px solid var(--rule)}
.cols.apart{background:var(--soft);border-radius:6px;padding:.3rem .7rem;margin:.4rem 0}
.changed{grid-column:1/-1;border-top:1px solid var(--rule);margin:.25rem 0 .2rem;padding:.3rem 0 0;min-width:0}
.changed .note{margin:.2rem 0}pre.was{margin:.2rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
del,ins{text-decoration:none;overflow-wrap:anywhere}pre.was del,pre.was ins{display:block}
del{color:var(--denied)}del::before{content:"\\2212\\00a0"}ins{color:var(--link)}ins::before{content:"+\\00a0"}
ul.patch{margin:.2rem 0 .6rem;padding-left:1.2rem;color:var(--branch)}
.steps{list-style:none;margin:0;padding:.2rem 0;font-size:.9rem}.steps li{padding:.2rem 0}
.steps b{font-weight:400;color:var(--dim)}.steps i{font-style:normal;color:var(--dim);font-variant-numeric:tabular-nums}
.steps .denied{color:var(--denied)}.steps .none{color:var(--dim)}
footer{padding:2.5rem 20px;color:var(--dim);font-size:.88rem}
@media(max-width:700px){body{font-size:15px}dl.sum{grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr))}
caption{max-width:calc(100vw - 28px)}td:not(:last-child){overflow-wrap:break-word;min-width:4.4rem}
.ev>summary{grid-template-columns:2.8rem 4.4rem 1fr;gap:.1rem .6rem}
.ev u{display:none}.ev summary span{grid-column:1/-1;white-space:normal}
.cols{gap:0 .8rem}ol.links li{grid-template-columns:1fr}ol.links .how{text-align:left}
ol.links .how .curve{width:4rem}header,main,footer,nav{padding-inline:14px}}
@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
@media print{:root{color-scheme:light}body{font-size:10pt;background:#fff}nav{display:none}h2{break-after:avoid}
.call,.turn,tr,.verdict,ol.links li{break-inside:avoid-page}#events{break-before:page}
details::details-content{content-visibility:visible;display:block;height:auto}
.ev summary span{white-space:normal}.wide{overflow:visible}svg.time{min-width:0}
td,td:not(:last-child){min-width:0;overflow-wrap:anywhere}}
@media print and (min-width:701px){.ev>summary{grid-template-columns:2.6rem 4rem 8rem 2rem 1fr}}
"""
