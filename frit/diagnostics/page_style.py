"""How reports look, and the little that their pages do: open a panel, choose a tab."""

STYLE = """
:root { color-scheme: light dark;
  --ground: #fbfbfa; --card: #ffffff; --ink: #1c1e21; --soft: #5c6370; --line: #e1e3e6;
  --accent: #2563c9; --mark: #eaf1fc; --code: #f4f5f6;
  --kernel: #8fb4ea; --kernel-part: #2563c9; --library: #c9a7e4; --library-part: #7a3fb0;
  --loop: #a8d3b4; --other: #d3d6da; --other-part: #8b919a; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #16181c; --card: #1e2126; --ink: #e6e8eb; --soft: #9aa2ae; --line: #33373e;
  --accent: #7fb0ff; --mark: #243350; --code: #191b20;
  --kernel: #2f4f80; --kernel-part: #7fb0ff; --library: #54386e; --library-part: #c79bf0;
  --loop: #2e5a3c; --other: #474c55; --other-part: #9aa2ae; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
header, .columns { max-width: 1360px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 28px; }
h1 { font-size: 1.5rem; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 10px; }
h3 { font-size: .9rem; margin: 18px 0 6px; }
p { margin: 0 0 8px; }
.note, .more, .what { color: var(--soft); font-size: .86rem; }
code, pre, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  font-size: .82rem; }
header code { overflow-wrap: anywhere; }
.columns { display: grid; grid-template-columns: minmax(0, 1fr); gap: 20px;
  padding-bottom: 60px; margin-top: 16px; }
main { display: grid; gap: 16px; min-width: 0; align-content: start; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 16px 18px; min-width: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 10px; }
.tile { display: flex; flex-direction: column; border-left: 3px solid var(--accent);
  padding: 2px 0 2px 10px; }
.tile strong { font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th { text-align: left; color: var(--soft); font-weight: 500; }
th, td { padding: 4px 14px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 6px; margin: 6px 0;
  padding: 10px 12px; overflow: auto; max-height: 60vh; line-height: 1.45; }
summary { cursor: pointer; } summary h2 { display: inline; } details[open] > summary {
  margin-bottom: 10px; }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
button.link { color: var(--accent); text-align: left; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 3px 14px; margin: 0;
  font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
.bar { display: block; height: 12px; background: var(--code); border-radius: 3px;
  overflow: hidden; }
td .bar { width: min(34vw, 420px); margin-top: 5px; }
.bar b { display: block; height: 100%; min-width: 2px; background: var(--kernel); }
.bar i { display: block; height: 100%; background: var(--kernel-part); }
.bar b.library { background: var(--library); } .bar b.library i { background: var(--library-part); }
.bar b.loop { background: var(--loop); }
.bar b.other { background: var(--other); } .bar b.other i { background: var(--other-part); }
.rows { display: grid; gap: 1px; }
button.row { display: grid; align-items: center; gap: 0 10px; padding: 4px 6px; width: 100%;
  grid-template-columns: 2.2em minmax(90px, 220px) minmax(0, 1fr) 5.2em 3.4em;
  border-radius: 5px; text-align: left; color: var(--ink); font-size: .88rem; }
button.row:hover, button.row.chosen { background: var(--mark); }
.row .name { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.row .index { color: var(--soft); text-align: right; font-variant-numeric: tabular-nums; }
.row .figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin-bottom: 8px; }
.legend span::before { content: ""; display: inline-block; width: .75em; height: .75em;
  border-radius: 2px; margin-right: 6px; background: var(--swatch); }
.graph { overflow: auto; max-height: 80vh; text-align: center; }
.graph svg { font: 12px system-ui, sans-serif; max-width: none; }
.graph path { fill: none; stroke: var(--soft); stroke-opacity: .45; stroke-width: 1.2; }
.graph path.near { stroke: var(--accent); stroke-opacity: 1; stroke-width: 2; }
.graph g { cursor: pointer; } .graph g:focus { outline: none; }
.graph rect { stroke: var(--line); fill: var(--card); }
.graph .heat { stroke: none; fill: var(--kernel-part); }
.graph .library .heat { fill: var(--library-part); }
.graph .kernel rect.box { fill: color-mix(in srgb, var(--kernel) 38%, var(--card)); }
.graph .library rect.box { fill: color-mix(in srgb, var(--library) 45%, var(--card)); }
.graph .loop rect.box { fill: color-mix(in srgb, var(--loop) 55%, var(--card)); }
.graph .other rect.box { fill: color-mix(in srgb, var(--other) 45%, var(--card)); }
.graph g:hover rect.box, .graph g:focus rect.box, .graph g.chosen rect.box {
  stroke: var(--accent); stroke-width: 2; }
.graph text { fill: var(--ink); } .graph text.small { fill: var(--soft); font-size: 11px; }
.chart { overflow-x: auto; }
.chart svg { min-width: 540px; width: 100%; height: auto; max-width: 760px;
  font: 12px system-ui, sans-serif; }
.chart text { fill: var(--soft); } .chart line { stroke: var(--line); }
.chart .roof { stroke: var(--ink); stroke-width: 1.6; fill: none; }
.chart .roof.far { stroke-dasharray: 5 4; }
.chart circle { fill: var(--kernel-part); fill-opacity: .65; cursor: pointer; }
.chart circle.library { fill: var(--library-part); }
.chart circle.chosen { stroke: var(--ink); stroke-width: 2; }
.reasons { margin: 0; padding: 0; list-style: none; font-size: .9rem; }
.reasons li + li { margin-top: 12px; } .reasons p { margin-bottom: 4px; }
.chips { display: flex; flex-wrap: wrap; gap: 4px 6px; }
button.chip { border: 1px solid var(--line); border-radius: 20px; padding: 0 10px;
  white-space: nowrap; color: var(--ink); } button.chip code { color: var(--soft); }
button.chip:hover { background: var(--mark); }
.source { margin: 0 0 10px; } .source code { display: block; background: var(--code);
  padding: 5px 8px; border-radius: 5px; overflow-x: auto; white-space: pre; }
.tabs { display: flex; gap: 4px; margin-top: 16px; border-bottom: 1px solid var(--line); }
.tabs button { padding: 5px 12px; color: var(--soft); border-bottom: 2px solid transparent; }
.tabs button[aria-selected=true] { color: var(--ink); border-color: var(--accent); }
.panel { min-width: 0; } .panel h2 { padding-right: 34px; overflow-wrap: anywhere; }
.panel ul { margin: 0; padding-left: 1.1em; font-size: .9rem; }
.close { position: absolute; top: 8px; right: 12px; font-size: 1.5rem; line-height: 1.2;
  color: var(--soft); width: 34px; height: 34px; z-index: 1; }
.panels { background: var(--card); border: 1px solid var(--line); padding: 16px 18px; }
.panels:not(.open) { display: none; }
@media (min-width: 1000px) {
  .columns:has(.panels.open) { grid-template-columns: minmax(0, 1fr) minmax(360px, 460px); }
  .panels { position: sticky; top: 16px; max-height: calc(100vh - 32px); overflow: auto;
    border-radius: 10px; align-self: start; } }
@media (max-width: 999px) {
  .panels { position: fixed; inset: auto 0 0 0; max-height: 72vh; overflow: auto; z-index: 2;
    border-radius: 14px 14px 0 0; box-shadow: 0 -8px 30px rgb(0 0 0 / .25); }
  body:has(.panels.open) { padding-bottom: 72vh; } }
@media (max-width: 600px) {
  td .bar { width: 17vw; }
  header, .columns { padding-left: 12px; padding-right: 12px; } header { padding-top: 16px; }
  section { padding: 14px 12px; }
  .tiles { grid-template-columns: 1fr 1fr; } h1 { font-size: 1.25rem; }
  button.row { grid-template-columns: 1.8em minmax(0, 1fr) 4.8em 3em; padding: 5px 2px; }
  .stack table, .stack tbody, .stack tr, .stack td { display: block; }
  .stack thead { display: none; } .stack td { border: 0; padding: 1px 0; text-align: left; }
  .stack tr { border-bottom: 1px solid var(--line); padding: 5px 0; }
  .row .bar { grid-column: 2 / -1; grid-row: 2; height: 8px; } }
@media print { .panels { position: static; max-height: none; } pre { max-height: none; } }
"""

SCRIPT = """
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const aside = document.querySelector(".panels");
  const each = (selector, act, root) => (root || document).querySelectorAll(selector).forEach(act);
  const fill = (block) => {
    let value = data;
    for (const key of block.dataset.text.split("/")) value = (value || {})[key];
    block.textContent = value === undefined ? "" : value;
  };
  const middle = (box) => { box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2; };
  let opener = null;
  function open(id) {
    const panel = document.getElementById(id);
    if (!panel) return;
    each(".panel", (other) => { other.hidden = other !== panel; });
    each(".chosen", (other) => other.classList.remove("chosen"));
    each("main [data-open='" + id + "']", (other) => other.classList.add("chosen"));
    each("path[data-ends]", (edge) =>
      edge.classList.toggle("near", edge.dataset.ends.split(" ").includes(id)));
    each("pre[data-text]", fill, panel);
    aside.classList.add("open");
    aside.scrollTop = 0;
    each(".graph", middle, panel);
  }
  function close() {
    if (!aside || !aside.classList.contains("open")) return;
    aside.classList.remove("open");
    each(".chosen", (other) => other.classList.remove("chosen"));
    each("path.near", (edge) => edge.classList.remove("near"));
    each(".panel", (panel) => { panel.hidden = true; });
    if (opener && opener.isConnected) opener.focus({ preventScroll: true });
  }
  function act(event) {
    const target = event.target.closest("[data-open], [data-show], .close");
    if (!target) return;
    if (target.matches(".close")) return close();
    if (target.dataset.open) {
      if (!aside.contains(target)) opener = target;
      return open(target.dataset.open);
    }
    const group = target.closest(".tabbed");
    each("[role=tab]", (tab) => tab.setAttribute("aria-selected", String(tab === target)), group);
    const block = group.querySelector("pre");
    block.dataset.text = target.dataset.show;
    fill(block);
    block.scrollTop = 0;
  }
  document.addEventListener("click", act);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    const own = event.target.closest && event.target.closest("g[data-open], circle[data-open]");
    if (own && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); act(event); }
  });
  each("main pre[data-text]", fill);
  each("main .graph", middle);
})();
"""
