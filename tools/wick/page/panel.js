"use strict";
// The panel next to the graph: overview, one node, weights, ops, times.
const panel = document.getElementById("panel"), tabs = document.getElementById("tabs");
const MORE = 200;  // rows of a table at once

// Makes an element with text or elements in it; never markup.
function el(tag, attributes = {}, ...inside) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) e.setAttribute(name, value);
  }
  for (const part of inside.flat(Infinity)) if (part !== undefined && part !== null && part !== "") e.append(part);
  return e;
}
const link = (text, action) => el("a", { class: "link", role: "button", tabindex: 0, onclick: action,
  onkeydown: e => { if (e.key === "Enter") action(); } }, text);
const nodeLink = n => link(nodeName(n), () => select(n.id, true));
const title = (text, note) => el("h2", {}, text, note && el("span", { class: "note" }, " " + note));
const track = share => {
  const fill = el("i");
  fill.style.width = 100 * share + "%";
  return el("span", { class: "track", "aria-hidden": "true" }, fill);
};
const list = rows => el("dl", {}, rows.filter(([, v]) => v !== undefined && v !== "").map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
const figures = rows => el("div", { class: "figures" },
  rows.filter(([, v]) => v !== undefined && v !== "").map(([k, v]) => el("div", {}, el("b", {}, v), el("span", {}, k))));

// columns: [{name, of: row -> value to sort by, show: row -> content, n: numeric}]
function table(columns, rows, sorted, onrow) {
  const body = el("tbody"), more = el("button", { type: "button" }), whole = el("table"), head = el("tr");
  let by = sorted, up = false, count = MORE;
  const fill = () => {
    const c = columns[by];
    const key = r => { const k = c.of(r); return k === undefined || k === null ? -Infinity : k; };
    rows.sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); });
    body.replaceChildren(...rows.slice(0, count).map(r => {
      const tr = el("tr", onrow ? { class: "go", onclick: () => onrow(r) } : {});
      for (const col of columns) tr.append(el("td", { class: col.cls || (col.n ? "n" : undefined) }, (col.show || col.of)(r)));
      return tr;
    }));
    more.hidden = rows.length <= count;
    more.textContent = "Show " + Math.min(MORE, rows.length - count) + " more of " + rows.length;
    [...head.children].forEach((th, i) => i === by ? th.setAttribute("aria-sort", up ? "ascending" : "descending") : th.removeAttribute("aria-sort"));
    watchDrawings(body);
  };
  columns.forEach((c, i) => head.append(el("th", { class: c.n ? "n" : undefined, scope: "col" }, c.name && el("button", { type: "button",
    onclick: () => { up = by === i ? !up : !c.n; by = i; fill(); } }, c.name))));
  more.addEventListener("click", () => { count += MORE; fill(); });
  whole.append(el("thead", {}, head), body);
  fill();
  return [whole, more];
}

// -- histograms are drawn when they come into view
const watcher = new IntersectionObserver(entries => {
  for (const e of entries) if (e.isIntersecting) { watcher.unobserve(e.target); e.target.paint(); }
}, { root: null, rootMargin: "200px" });
const watchDrawings = where => where.querySelectorAll(".lazy").forEach(c => watcher.observe(c));
function histogram(c, small) {
  if (!c.histogram || c.histogram.length === 0) return "";
  const bars = document.createElementNS("http://www.w3.org/2000/svg", "svg"), n = c.histogram.length, most = Math.max(...c.histogram);
  bars.setAttribute("class", (small ? "spark" : "histogram") + " lazy");
  bars.setAttribute("viewBox", `0 0 ${n} 20`);
  bars.setAttribute("preserveAspectRatio", "none");
  bars.setAttribute("role", "img");
  bars.setAttribute("aria-label", `histogram from ${number(c.min)} to ${number(c.max)}`);
  bars.paint = () => {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", c.histogram.map((k, i) => k ? `M${i} 20V${(20 - Math.max(0.5, 20 * k / most)).toFixed(2)}H${i + 0.9}V20Z` : "").join(""));
    path.style.fill = "var(--bar)";
    bars.append(path);
  };
  return bars;
}
function weightStats(c) {
  const bad = (name, k) => k ? el("span", { class: "bad" }, name + " ", el("b", { class: "bad" }, number(k))) : "";
  const one = (name, v) => v === undefined ? "" : el("span", {}, name + " ", el("b", {}, number(v)));
  return el("div", { class: "stats" }, one("min", c.min), one("max", c.max), one("mean", c.mean), one("std", c.std),
    c.zeros === undefined ? "" : el("span", {}, "zeros ", el("b", {}, number(c.zeros)), c.elements > 1 && c.zeros ? " (" + shareText(c.zeros / c.elements) + ")" : ""),
    bad("NaN", c.nans), bad("infinite", c.infinities));
}
function weightDetail(c) {
  const values = c.values ? "[" + c.values.map(v => typeof v === "string" ? JSON.stringify(v) : v === null ? "nan" : number(+v.toPrecision(7))).join(", ") + "]" : "";
  return [el("div", { class: "note" }, bytesText(c.bytes) + " · " + number(c.elements) + (c.elements === 1 ? " element" : " elements")),
    values && el("div", { class: "type" }, values), c.elements > 1 || !values ? weightStats(c) : "", histogram(c, false)];
}

// -- overview
const inputBytes = () => regions[0].inputs.reduce((s, v) => s + (values[v].bytes || 0), 0);
function overview() {
  const m = data.model, p = data.profile, s = data.sizes, kinds = [];
  const ports = ids => table([{ name: "Name", of: v => valueName(v), show: v => link(valueName(v), () => selectValue(v)) },
    { name: "Type", of: v => typeText(values[v]), cls: "mono" }], ids.slice(), 0).slice(0, 1);
  const inner = nodes.length - total.inMain;
  kinds.push(title("Model"), figures([
    ["nodes" + (inner ? ", " + inner + " of them in regions" : ""), number(nodes.length)],
    ["parameters", countText(total.parameters)], ["weights", bytesText(m.weight_bytes)], ["file", bytesText(m.file_bytes)],
    ["products, FLOPs", total.flops ? countText(total.flops) : ""], ["read and written", total.moved ? bytesText(total.moved) : ""],
    ["planned peak memory", s.arena_bytes === undefined ? "" : bytesText(s.arena_bytes)],
    ["packed weights", s.packed_bytes ? bytesText(s.packed_bytes) : ""],
    ["a run, median of " + (p ? p.runs : 0), p ? msText(p.median_ms) : ""],
    ["FLOPs a second", p && total.flops ? countText(total.flops / p.median_ms * 1000) : ""],
  ]));
  if (s.unknown) kinds.push(el("p", { class: "note" }, "Memory, FLOPs and bytes need sizes: " + s.unknown));
  else kinds.push(el("p", { class: "note" }, "Sizes are those of " + (p ? "the run" : "one binding") +
    (data.profile && !p.made_inputs ? ", with the inputs that were given" : ", with made-up inputs") +
    (inner ? "; of an If, both branches count as far as their sizes are known" : "") + ". FLOPs: convolutions, matrix products, recurrences."));
  if (m.entry) kinds.push(el("p", { class: "note" }, "This is the entry point " + m.entry + ". The file also has " + m.other_entries.join(", ") +
    ": wick inspect --entry NAME --html shows one."));
  kinds.push(title("Inputs"), ports(regions[0].inputs), title("Outputs"), ports(regions[0].outputs));
  if (data.symbols.length) {
    const named = new Set();  // those that an input names; the others depend on values
    for (const v of regions[0].inputs) for (const d of values[v].shape || []) named.add(d);
    const rows = data.symbols.filter(x => named.has(x.name));
    if (rows.length) kinds.push(title("Symbols"), table([{ name: "Name", of: x => x.name }, { name: "From", of: x => x.min, show: x => number(x.min), n: true },
      { name: "To", of: x => x.max, show: x => x.max === 2147483647 || x.max === "9223372036854775807" ? "any" : number(x.max), n: true },
      { name: "Here", of: x => x.now, show: x => number(x.now), n: true }], rows, 0).slice(0, 1));
  }
  const memory = memoryChart();
  if (memory) kinds.push(title("Live memory", "node by node, of the values that are still read"), memory);
  kinds.push(title("Origin"), list([["path", m.path], ["shown", m.compiled ? "as Wick compiles it (exact passes ran)" : "as the program is"],
    ["source", m.source], ["numerics", m.numerics], ["weights SHA-256", m.weights_sha256 && el("code", {}, m.weights_sha256)],
    ["growing", m.growing ? "yes: some sizes have no bound, runs may allocate" : ""], ["shown by", "wick " + m.wick],
    ["profile", p ? p.runs + " runs, " + p.threads + (p.threads === 1 ? " thread" : " threads") : ""]]));
  const keys = Object.entries(m.metadata);
  if (keys.length) kinds.push(title("Metadata"), list(keys.map(([k, v]) => [k, clip(v, 2000)])));
  if (m.labels.length) kinds.push(title("Labels", String(m.labels.length)), el("p", { class: "note" }, m.labels.slice(0, 60).join(" · ") + (m.labels.length > 60 ? " …" : "")));
  return kinds;
}
// Returns the bytes of the main graph's values from where they are made to where they are last read.
function memoryChart() {
  const ids = regionNodes[0], last = new Map(), step = new Map(ids.map((id, i) => [id, i])), change = new Float64Array(ids.length + 1);
  let known = 0;
  for (const id of ids) for (const v of nodes[id].outputs) {
    if (v < 0 || !values[v].bytes) continue;
    const end = regions[0].outputs.includes(v) ? ids.length - 1 : readers[v].reduce((e, r) => Math.max(e, step.has(r) ? step.get(r) : e), step.get(id));
    change[step.get(id)] += values[v].bytes;
    change[end + 1] -= values[v].bytes;
    ++known;
  }
  if (known < ids.length / 2 || ids.length < 2) return null;
  const live = [];
  let now = inputBytes(), peak = 0;
  for (let i = 0; i < ids.length; ++i) {
    live.push(now += change[i]);
    if (now > live[peak]) peak = i;
  }
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), n = ids.length, top = live[peak] || 1;
  svg.setAttribute("class", "histogram");
  svg.setAttribute("viewBox", `0 0 ${n} 20`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "live bytes by node");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M0 20" + live.map((b, i) => `L${i} ${(20 - 19.5 * b / top).toFixed(2)}H${i + 1}`).join("") + `L${n} 20Z`);
  path.style.fill = "var(--bar)";
  svg.append(path);
  svg.style.cursor = "pointer";
  svg.addEventListener("click", e => {
    const r = svg.getBoundingClientRect();
    select(ids[clamp(Math.floor((e.clientX - r.left) / r.width * n), 0, n - 1)], true);
  });
  return el("div", {}, svg, el("p", { class: "note" }, "peak " + bytesText(top) + " at ", nodeLink(nodes[ids[peak]])));
}

// -- one node
function tensorBox(role, v) {
  if (v < 0) return el("div", { class: "tensor" }, el("div", { class: "top" }, el("span", { class: "note" }, "absent"), el("span", { class: "role" }, role)));
  const value = values[v], c = value.constant === undefined ? null : constants[value.constant], box = el("div", { class: "tensor" });
  box.append(el("div", { class: "top" }, link(valueName(v), () => selectValue(v)), el("span", { class: "role" }, role)), el("div", { class: "type" }, typeText(value)));
  if (c) box.append(...weightDetail(c).filter(Boolean));
  else if (value.bytes !== undefined) box.append(el("div", { class: "note" }, bytesText(value.bytes)));
  return box;
}
const whoMakes = v => values[v].constant !== undefined ? "a constant" : maker[v] >= 0 ? nodeLink(nodes[maker[v]]) : "an input";
function nodePanel() {
  const s = current;
  if (!s) return [el("p", { class: "note" }, "Select a node in the graph, or search for one with /.")];
  if (s.value !== undefined) {
    const v = s.value, out = [el("p", { class: "head" }, valueName(v)), el("p", { class: "under" }, "tensor"), tensorBox("", v),
      title("Made by"), el("p", {}, whoMakes(v)), title("Read by", String(readers[v].length))];
    for (const id of readers[v].slice(0, 100)) out.push(el("p", {}, el("span", { class: "chip" }, nodes[id].op), " ", nodeLink(nodes[id])));
    if (regions.some(r => r.outputs.includes(v))) out.push(el("p", { class: "note" }, "an output of its graph"));
    return out;
  }
  if (s.group) {
    const all = within(s.group.ids).map(id => nodes[id]);
    return [el("p", { class: "head" }, s.group.lines[0]), el("p", { class: "under" }, "module of " + all.length + " nodes"),
      el("div", { class: "actions" }, el("button", { type: "button", onclick: () => toggle(s.group.key) }, open.has(s.group.key) ? "Close" : "Open")), title("Nodes"), nodeTable(all)];
  }
  const n = nodes[s.node], out = [];
  out.push(el("p", { class: "head" }, n.op), el("p", { class: "under" }, n.name || "(no name)"));
  const owner = regions[n.region].owner;
  out.push(figures([["time, " + shareText(kernelMs ? nodeMs(n) / kernelMs : 0) + " of all", timed && (n.ms !== undefined || n.inside !== undefined) ? msText(nodeMs(n)) : ""],
    ["FLOPs", n.flops ? countText(n.flops) : ""], ["FLOPs a second", n.flops && n.ms ? countText(n.flops / n.ms * 1000) : ""],
    ["read and written", movedBytes(n) ? bytesText(movedBytes(n)) : ""], ["bytes a second", movedBytes(n) && n.ms ? bytesText(movedBytes(n) / n.ms * 1000) : ""]]));
  out.push(list([["module", n.module], ["source", n.source && el("code", {}, n.source)], ["kernel", n.kernel && el("code", {}, n.kernel)],
    ["runs", n.times !== undefined && n.times !== 1 ? number(+n.times.toFixed(2)) + " times a run" : timed && n.ms === undefined && !n.regions ? "not as a step of its own in this profile (an alias, folded, or a branch not taken)" : ""],
    ["inside", owner >= 0 ? el("span", {}, regions[n.region].title + " of ", nodeLink(nodes[owner])) : ""]]));
  if (n.regions) out.push(el("div", { class: "actions" }, el("button", { type: "button", onclick: () => toggle(regionKey(n)) }, open.has(regionKey(n)) ? "Close" : "Open")));
  const attributes = Object.entries(n.attributes);
  if (attributes.length) out.push(title("Attributes"), list(attributes.map(([k, v]) => [k, el("code", {}, Array.isArray(v) ? "[" + v.join(", ") + "]" : typeof v === "number" ? number(v) : String(v))])));
  out.push(title("Inputs"), ...n.inputs.map((v, i) => tensorBox("input " + i, v)), title("Outputs"), ...n.outputs.map((v, i) => tensorBox("output " + i, v)));
  return out;
}

// -- tables
function nodeTable(rows) {
  const columns = [{ name: "Op", of: n => n.op }, { name: "Node", of: n => n.name, show: n => nodeName(n) }];
  if (timed) columns.push({ name: "Time", of: nodeMs, show: n => nodeMs(n) ? msText(nodeMs(n)) : "", n: true });
  else columns.push({ name: "FLOPs", of: n => n.flops || 0, show: n => n.flops ? countText(n.flops) : "", n: true });
  return table(columns, rows.slice(), 2, n => select(n.id, true));
}
function weightsPanel() {
  const user = new Map(constants.map((_, i) => [i, []]));
  values.forEach((v, id) => { if (v.constant !== undefined) user.get(v.constant).push(id); });
  return [title("Weights", number(constants.length) + " constants, " + bytesText(constants.reduce((s, c) => s + c.bytes, 0)) + ", largest first"),
    table([{ name: "Name", of: c => c.name, show: c => [c.name || "(no name)", el("div", { class: "note mono" }, c.type + " [" + c.shape.join(", ") + "]"),
      c.nans || c.infinities ? el("div", { class: "bad" }, c.nans + " NaN, " + c.infinities + " infinite") : ""] },
    { name: "Values", of: c => c.std, show: c => histogram(c, true) || (c.values && c.values.length === 1 ? el("code", {}, typeof c.values[0] === "number" ? number(+c.values[0].toPrecision(7)) : String(c.values[0])) : "") },
    { name: "Mean ± std", of: c => c.mean, show: c => c.mean === undefined ? "" : [number(+(+c.mean).toPrecision(3)), el("div", { class: "note" }, "± " + number(+(+c.std).toPrecision(3)))], n: true },
    { name: "Bytes", of: c => c.bytes, show: c => bytesText(c.bytes), n: true }],
    constants.map((c, i) => ({ ...c, id: i })), 3, c => { if (user.get(c.id).length) selectValue(user.get(c.id)[0]); })];
}
function opRows() {
  const byOp = new Map();
  for (const n of nodes) {
    const row = byOp.get(n.op) || { op: n.op, count: 0, ms: 0, flops: 0, moved: 0 };
    row.count++;
    row.ms += n.ms || 0;
    row.flops += n.flops || 0;
    row.moved += movedBytes(n);
    byOp.set(n.op, row);
  }
  return [...byOp.values()];
}
const searchOp = op => { query.value = "op:" + op; search(); };
function opsPanel() {
  const rows = opRows(), most = Math.max(...rows.map(r => r.count));
  return [title("Operators", rows.length + " kinds"), table([{ name: "Op", of: r => r.op, show: r => link(r.op, () => searchOp(r.op)) }, { name: "Nodes", of: r => r.count, n: true },
    { name: "", of: r => r.count, show: r => track(r.count / most), cls: "bar" }, { name: "FLOPs", of: r => r.flops, show: r => r.flops ? countText(r.flops) : "", n: true },
    { name: "Moved", of: r => r.moved, show: r => r.moved ? bytesText(r.moved) : "", n: true }], rows, 1)];
}
function timePanel() {
  const p = data.profile, rows = opRows().filter(r => r.ms > 0), most = Math.max(...rows.map(r => r.ms));
  const ran = nodes.filter(n => n.ms > 0), longest = ran.reduce((m, n) => Math.max(m, n.ms), 0);
  const share = ms => kernelMs ? shareText(ms / kernelMs) : "";
  return [title("Time", p.runs + " runs, " + p.threads + (p.threads === 1 ? " thread" : " threads")),
    figures([["a run, median", msText(p.median_ms)], ["fastest", msText(p.min_ms)], ["in kernels, sum of medians", msText(kernelMs)], ["nodes that ran", number(ran.length)]]),
    title("By op"), table([{ name: "Op", of: r => r.op, show: r => link(r.op, () => searchOp(r.op)) }, { name: "Nodes", of: r => r.count, n: true }, { name: "Time", of: r => r.ms, show: r => msText(r.ms), n: true },
      { name: "", of: r => r.ms, show: r => track(r.ms / most), cls: "bar" }, { name: "Share", of: r => r.ms, show: r => share(r.ms), n: true }], rows, 2),
    title("By node"), table([{ name: "Node", of: n => n.name, show: n => [nodeName(n), el("div", { class: "note" }, n.op + (n.kernel ? " · " + n.kernel : ""))] }, { name: "Time", of: n => n.ms, show: n => msText(n.ms), n: true },
      { name: "", of: n => n.ms, show: n => track(n.ms / longest), cls: "bar" }, { name: "Share", of: n => n.ms, show: n => share(n.ms), n: true }], ran, 1, n => select(n.id, true))];
}

// -- tabs
const TABS = { overview: ["Overview", overview], node: ["Node", nodePanel], weights: ["Weights", weightsPanel], ops: ["Operators", opsPanel] };
if (timed) TABS.time = ["Time", timePanel];
let tab = "overview";
function showTab(name) {
  tab = Object.hasOwn(TABS, name) ? name : "overview";
  panel.replaceChildren(...TABS[tab][1]().flat(3).filter(Boolean));
  panel.scrollTop = 0;
  panel.setAttribute("aria-labelledby", "tab-" + tab);
  watchDrawings(panel);
  for (const b of tabs.children) {
    b.setAttribute("aria-selected", b.dataset.tab === tab);
    b.tabIndex = b.dataset.tab === tab ? 0 : -1;
  }
}
function makeTabs() {
  for (const [key, [name]] of Object.entries(TABS)) {
    tabs.append(el("button", { type: "button", role: "tab", id: "tab-" + key, "data-tab": key, "aria-controls": "panel",
      onclick: () => { showTab(key); remember(); } }, name));
  }
  tabs.addEventListener("keydown", e => {
    const all = [...tabs.children], at = all.findIndex(b => b.dataset.tab === tab);
    const to = e.key === "ArrowRight" ? at + 1 : e.key === "ArrowLeft" ? at - 1 : at;
    if (to === at) return;
    const next = all[(to + all.length) % all.length];
    next.click();
    next.focus();
  });
}
