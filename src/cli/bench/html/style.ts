/** Colours are those of the console (`src/console/DESIGN.md`). */
export const STYLE = `
:root{color-scheme:light dark;--ground:#fff;--raised:#f4f6f9;--line:#e3e7ed;--text:#1a1f27;--muted:#5a6472;--accent:#1f5fd0;--good:#18713d;--good-soft:#e6f4ea;--warn:#8a5300;--bad:#b42318;--bad-soft:#fdecea;--s0:#1f5fd0;--s1:#b4540a;--s2:#18713d;--s3:#8a3fb0;--other:#9aa5b4}
@media (prefers-color-scheme:dark){:root{--ground:#14171c;--raised:#1f242c;--line:#2b313b;--text:#e6e9ee;--muted:#a2abb8;--accent:#7fb0ff;--good:#63c58a;--good-soft:#16301f;--warn:#e5b04c;--bad:#ff8a80;--bad-soft:#3a1c1a;--s0:#7fb0ff;--s1:#f0a35e;--s2:#63c58a;--s3:#d09cf0;--other:#5f6978}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:14px/20px system-ui,-apple-system,"Segoe UI",sans-serif;font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}
main{max-width:1120px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:20px;line-height:28px;margin:0;letter-spacing:-.01em}
h2{font-size:16px;line-height:24px;margin:0}
h3{font-size:14px;line-height:20px;margin:16px 0 4px}
p{margin:4px 0 0;max-width:72ch}
.muted,.about{color:var(--muted)}
.about{font-size:13px}
header .where{overflow-wrap:anywhere}
.verdict{display:inline-block;padding:2px 8px;border-radius:6px;font-weight:600;margin-left:8px;font-size:13px;vertical-align:2px;white-space:nowrap}
.good{color:var(--good)}.bad{color:var(--bad)}
.verdict.good{background:var(--good-soft)}.verdict.bad{background:var(--bad-soft)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:20px 0 0;padding:0;list-style:none}
.cards li{border:1px solid var(--line);border-radius:10px;padding:12px 14px}
.cards b{display:block;font-size:24px;line-height:32px;font-weight:600;white-space:nowrap}
.cards span{color:var(--muted);font-size:12px;line-height:16px;display:block}
.grid{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:16px;margin-top:16px}
section{border:1px solid var(--line);border-radius:10px;padding:16px;min-width:0}
section.wide{grid-column:1/-1}
.plot{margin:16px 0 0}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:0 0 8px;padding:0;list-style:none;font-size:12px;line-height:16px}
.legend li{display:flex;align-items:center;gap:6px}
.key{width:16px;height:0;border-top:2px solid var(--c)}
.box{position:relative;height:220px;margin:4px 12px 22px 52px}
.box svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.box line.grid{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
.band{fill:var(--raised)}
.s0{--c:var(--s0)}.s1{--c:var(--s1)}.s2{--c:var(--s2)}.s3{--c:var(--s3)}
.line{fill:none;stroke:var(--c);stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round}
.line.s1{stroke-dasharray:6 3}.line.s2{stroke-dasharray:2 3}
.key.s1{border-top-style:dashed}.key.s2{border-top-style:dotted}
.area{fill:var(--c);opacity:.14}
.dot{position:absolute;width:9px;height:9px;margin:-4.5px 0 0 -4.5px;border-radius:50%;background:var(--c);border:1.5px solid var(--ground)}
.box .y,.box .x,.box .mark{position:absolute;color:var(--muted);font-size:11px;line-height:14px;white-space:nowrap}
.box .y{right:100%;margin-right:8px;transform:translateY(50%)}
.box .x{top:100%;margin-top:6px;transform:translateX(-50%)}
.box .mark{top:2px;transform:translateX(-50%);font-size:10px}
.title-y,.title-x{color:var(--muted);font-size:12px;line-height:16px}
.title-y{margin-bottom:10px}
.title-x{text-align:right;margin-right:12px}
table{border-collapse:collapse;width:100%}
.bars,.ranges{margin-top:12px;table-layout:auto}
.bars th,.ranges th{font-weight:400;text-align:left;white-space:nowrap;padding:0 12px 0 0;width:1%}
.bars td,.ranges td{padding:5px 0}
.bars .value,.ranges .value{white-space:nowrap;text-align:right;padding-left:12px;width:1%}
.ranges thead th,.ranges .value span{color:var(--muted);font-weight:400}
.ranges thead th{font-size:12px}
.bar{display:block;height:14px;border-radius:3px;background:var(--accent)}
.bar.other{background:var(--other)}
.track{position:relative;height:14px;min-width:90px}
.track:before{content:"";position:absolute;left:0;right:0;top:6.5px;border-top:1px solid var(--line)}
.span{position:absolute;top:5px;height:4px;background:var(--accent);border-radius:2px}
.span.far{height:2px;top:6px;opacity:.4}
.point{position:absolute;top:2px;width:10px;height:10px;margin-left:-5px;border-radius:50%;background:var(--accent)}
.point.p99{background:var(--ground);border:2px solid var(--accent)}
.tick{position:absolute;top:2px;width:2px;height:10px;margin-left:-1px;background:var(--accent)}
.ticks{position:relative;height:14px}
.ticks span{position:absolute;transform:translateX(-50%);color:var(--muted);font-size:11px;line-height:14px;white-space:nowrap}
.key-line{display:flex;flex-wrap:wrap;align-items:center;gap:6px;color:var(--muted);font-size:12px;margin-top:10px}
.key-line i{position:static;margin:0 0 0 8px}
.key-line i:first-child{margin-left:0}
.key-line .span.far{width:18px}
.scroll{overflow-x:auto;margin-top:12px}
.table th,.table td{padding:8px 12px 8px 0;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
.table th:first-child,.table td:first-child{text-align:left;font-weight:500}
.table thead th{color:var(--muted);font-weight:500;font-size:12px}
.table tr:last-child td{border-bottom:0}
.problems{margin:12px 0 0;padding-left:20px}
.problems li{overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 16px;margin:12px 0 0}
dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}
@media (max-width:760px){.grid{grid-template-columns:minmax(0,1fr)}main{padding:16px 12px 48px}section{padding:14px 12px}.cards{grid-template-columns:repeat(2,minmax(0,1fr))}.cards b{font-size:20px;line-height:28px}.box{margin-left:44px}}
@media (max-width:560px){.ranges thead{display:none}.ranges tr{display:grid;grid-template-columns:minmax(0,1fr) auto}.ranges td:nth-child(2){grid-column:1/-1;grid-row:2;padding:0 16px}.ranges th{width:auto}.ranges tbody tr{padding-top:6px}.ranges tfoot td:not(:nth-child(2)){display:none}.bars tr{display:grid;grid-template-columns:minmax(0,1fr) auto;padding-top:6px}.bars td:nth-child(2){grid-column:1/-1;grid-row:2}.bars th,.bars .value{width:auto}.bars .value,.ranges .value{padding-top:0;padding-bottom:0}dl{grid-template-columns:minmax(0,1fr)}dd{margin-bottom:6px}}
@media print{section{break-inside:avoid}}
`
