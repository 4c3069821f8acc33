"use strict";
// Selection, search, keys and mouse, and the state in the address (#node=..&search=..&tab=..&colour=..&open=all).
const query = document.getElementById("query"), hits = document.getElementById("hits"), tip = document.getElementById("tip");
const buttons = { modules: document.getElementById("modules"), wrap: document.getElementById("wrap"), all: document.getElementById("all"), fit: document.getElementById("fit"), colour: document.getElementById("colour") };
let current = null;  // {node}, {value} or {group}: what the panel shows
let restoring = false;

function relayout() {
  const began = performance.now();
  build();
  colourBoxes();
  drawLegend();
  markSelected();
  markHits();
  document.documentElement.dataset.layoutMs = Math.round(performance.now() - began);
  buttons.wrap.hidden = !scene.tall;
  buttons.wrap.setAttribute("aria-pressed", wrapped);
  buttons.all.disabled = everyKey().size === 0;
  buttons.all.textContent = open.size && [...everyKey()].every(k => open.has(k)) ? "Collapse all" : "Expand all";
  redraw();
}
// Keeps the box where it is on the screen while it opens or closes.
function toggle(key) {
  const before = scene.boxes.find(b => b.key === key), x = before && before.ax - view.x, y = before && before.ay - view.y;
  open.has(key) ? open.delete(key) : open.add(key);
  relayout();
  const after = scene.boxes.find(b => b.key === key);
  if (before && after) { view.x = after.ax - x; view.y = after.ay - y; }
  if (current) showTab(tab);
  remember();
}

// -- selection
function markSelected() {
  shown.selected = !current ? null : current.node !== undefined ? scene.ofNode[current.node] : current.group
    ? scene.boxes.find(b => b.key === current.group.key) : boxOfValue(current.value);
}
const boxOfValue = v => maker[v] >= 0 ? scene.ofNode[maker[v]] : scene.ofPort.get("input" + v) || (readers[v].length ? scene.ofNode[readers[v][0]] : null) || null;
function select(id, move) {
  current = { node: id };
  if (move && uncover(id)) relayout();
  picked(move, nodes[id].op + " " + nodeName(nodes[id]));
}
function selectValue(v) {
  current = { value: v };
  const at = maker[v] >= 0 ? maker[v] : readers[v][0];
  if (at !== undefined && uncover(at)) relayout();
  picked(true, "tensor " + valueName(v));
}
function picked(move, said) {
  markSelected();
  if (move && shown.selected) centre(shown.selected, view.zoom < 0.55 ? 0.9 : 0);
  document.getElementById("spoken").textContent = said;
  showTab("node");
  remember();
  redraw();
}
function pickBox(b, move) {
  if (b.kind === "port") return void selectValue(b.value);
  if (b.node) return void select(b.node.id, move);
  current = { group: b };
  picked(move, "module " + b.lines[0]);
}

// -- search: every word in the op, the node's name or its tensors' names; op:NAME is the op itself
let found = [];
const haystack = nodes.map(n => (n.op + "\n" + n.name + "\n" + n.outputs.concat(n.inputs).map(v => v >= 0 ? values[v].name : "").join("\n")).toLowerCase());
function matches(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  return nodes.filter(n => words.every(w => w.startsWith("op:") ? n.op.toLowerCase() === w.slice(3) : haystack[n.id].includes(w)));
}
function rankHit(n, text) {
  const name = n.name.toLowerCase(), op = n.op.toLowerCase();
  return op === text || name === text ? 0 : op.startsWith(text) || name.startsWith(text) ? 1 : op.includes(text) || name.includes(text) ? 2 : 3;
}
function markHits() {
  const list = matches(query.value);
  shown.hits = list ? new Set(list.map(n => scene.ofNode[n.id])) : null;
  if (shown.hits) shown.hits.delete(undefined);
}
let chosen = -1;
function search() {
  const text = query.value.trim().toLowerCase(), list = matches(text);
  found = list ? list.map(n => [rankHit(n, text), n]).sort((a, b) => a[0] - b[0] || a[1].id - b[1].id).map(p => p[1]) : [];
  chosen = found.length ? 0 : -1;
  hits.replaceChildren(...found.slice(0, 60).map((n, i) => el("li", { role: "option", id: "hit" + i, "aria-selected": i === chosen, onmousedown: e => { e.preventDefault(); choose(i); } },
    el("span", { class: "chip" }, n.op), el("span", { class: "name" }, nodeName(n)))));
  if (list && found.length !== 1) hits.append(el("li", { class: "note", role: "presentation" }, found.length === 0 ? "no node, op or tensor has that name" : found.length + " nodes" + (found.length > 60 ? ", the first 60" : "")));
  const visible = !!list && document.activeElement === query;
  hits.hidden = !visible;
  query.setAttribute("aria-expanded", visible);
  markHits();
  remember();
  redraw();
}
function point(to) {
  const most = Math.min(found.length, 60);
  if (most === 0) return;
  chosen = (to + most) % most;
  [...hits.children].forEach((li, i) => li.setAttribute("aria-selected", i === chosen));
  query.setAttribute("aria-activedescendant", "hit" + chosen);
  hits.children[chosen].scrollIntoView({ block: "nearest" });
}
function choose(i) {
  if (!found[i]) return;
  hits.hidden = true;
  query.setAttribute("aria-expanded", false);
  select(found[i].id, true);
  graph.focus();
}
query.addEventListener("input", search);
query.addEventListener("focus", search);
query.addEventListener("blur", () => { hits.hidden = true; query.setAttribute("aria-expanded", false); });
query.addEventListener("keydown", e => {
  if (e.key === "ArrowDown") { point(chosen + 1); e.preventDefault(); }
  if (e.key === "ArrowUp") { point(chosen - 1); e.preventDefault(); }
  if (e.key === "Enter") choose(Math.max(0, chosen));
  if (e.key === "Escape") { query.value = ""; search(); graph.focus(); }
});

// -- keys on the graph
function follow(up) {
  const b = shown.selected, wires = scene.wires.filter(w => (up ? w.to : w.from) === b);
  if (!b) return void (scene.boxes[0] && pickBox(scene.boxes[0], true));
  const near = wires.map(w => up ? w.from : w.to).sort((p, q) => Math.abs(p.ax + p.w / 2 - b.ax - b.w / 2) - Math.abs(q.ax + q.w / 2 - b.ax - b.w / 2));
  if (near.length) stepTo(near[0]);
}
function beside(right) {
  const b = shown.selected;
  if (!b) return;
  const row = scene.boxes.filter(o => o !== b && Math.abs(o.ay - b.ay) < 4 && (right ? o.ax > b.ax : o.ax < b.ax));
  row.sort((p, q) => Math.abs(p.ax - b.ax) - Math.abs(q.ax - b.ax));
  if (row.length) stepTo(row[0]);
}
function stepTo(b) {
  if (b.kind === "port") { current = { value: b.value }; shown.selected = b; showTab("node"); redraw(); }
  else pickBox(b, false);
  const left = view.x, right = view.x + view.w / view.zoom, top = view.y, bottom = view.y + view.h / view.zoom;
  if (b.ax < left || b.ax + b.w > right || b.ay < top || b.ay + b.h > bottom) centre(b, 0);
}
graph.addEventListener("keydown", e => {
  const act = { ArrowUp: () => follow(true), ArrowDown: () => follow(false), ArrowLeft: () => beside(false), ArrowRight: () => beside(true),
    "+": () => zoomAt(1.25, view.w / 2, view.h / 2), "=": () => zoomAt(1.25, view.w / 2, view.h / 2), "-": () => zoomAt(0.8, view.w / 2, view.h / 2), "0": fitAll,
    Enter: () => shown.selected && shown.selected.key && toggle(shown.selected.key) }[e.key];
  if (!act || e.ctrlKey || e.metaKey) return;
  e.preventDefault();
  act();
});
document.addEventListener("keydown", e => {
  if (e.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
  e.preventDefault();
  query.focus();
  query.select();
});

// -- mouse and touch
let press = null;
const pointers = new Map();
const place = e => { const r = graph.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
graph.addEventListener("pointerdown", e => {
  graph.setPointerCapture(e.pointerId);
  pointers.set(e.pointerId, place(e));
  press = { at: place(e), x: view.x, y: view.y, moved: false };
});
graph.addEventListener("pointermove", e => {
  const at = place(e);
  if (pointers.has(e.pointerId) && pointers.size === 2) {
    const [a, b] = [...pointers.values()], was = Math.hypot(a[0] - b[0], a[1] - b[1]);
    pointers.set(e.pointerId, at);
    const [c, d] = [...pointers.values()], is = Math.hypot(c[0] - d[0], c[1] - d[1]);
    press.moved = true;
    return void zoomAt(is / Math.max(1, was), (c[0] + d[0]) / 2, (c[1] + d[1]) / 2);
  }
  if (press && pointers.has(e.pointerId)) {
    const dx = at[0] - press.at[0], dy = at[1] - press.at[1];
    if (Math.abs(dx) + Math.abs(dy) > 3) press.moved = true;
    if (press.moved) {
      graph.classList.add("moving");
      tip.hidden = true;
      view.x = press.x - dx / view.zoom;
      view.y = press.y - dy / view.zoom;
      redraw();
    }
    return;
  }
  hover(at);
});
function hover(at) {
  const b = boxAt(...at);
  if (b !== shown.hover) { shown.hover = b; redraw(); }
  tip.hidden = !b || b.kind === "open";
  if (tip.hidden) return;
  const lines = b.kind === "port" ? [b.role + " " + (values[b.value].name || ""), typeText(values[b.value])]
    : b.kind === "group" ? [b.lines.join("\n"), timed ? msText(b.ms) : ""]
    : [b.node.op + "  " + nodeName(b.node), ...b.node.outputs.slice(0, 4).filter(v => v >= 0).map(v => "→ " + typeText(values[v])),
      timed && nodeMs(b.node) ? msText(nodeMs(b.node)) + " (" + shareText(nodeMs(b.node) / kernelMs) + ")" : ""];
  tip.textContent = lines.filter(Boolean).join("\n");
  tip.style.left = Math.min(at[0] + 14, view.w - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(at[1] + 16, view.h - tip.offsetHeight - 8) + "px";
}
graph.addEventListener("pointerup", e => {
  pointers.delete(e.pointerId);
  graph.classList.remove("moving");
  if (press && !press.moved) {
    const b = boxAt(...place(e));
    if (b) pickBox(b, false);
    else { current = null; markSelected(); remember(); redraw(); }
  }
  press = null;
});
graph.addEventListener("pointercancel", e => { pointers.delete(e.pointerId); press = null; });
graph.addEventListener("pointerleave", () => { shown.hover = null; tip.hidden = true; redraw(); });
graph.addEventListener("dblclick", e => { const b = boxAt(...place(e)); if (b && b.key) toggle(b.key); });
graph.addEventListener("wheel", e => {
  e.preventDefault();
  tip.hidden = true;
  const [x, y] = place(e);
  if (e.shiftKey) { view.x += (e.deltaX || e.deltaY) / view.zoom; redraw(); }
  else zoomAt(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0015)), x, y);
}, { passive: false });
function fromMap(e) {
  const r = map.getBoundingClientRect();
  view.x = (e.clientX - r.left - mapAt.x) / mapAt.sx - view.w / view.zoom / 2;
  view.y = (e.clientY - r.top - mapAt.y) / mapAt.sy - view.h / view.zoom / 2;
  redraw();
}
map.addEventListener("pointerdown", e => { map.setPointerCapture(e.pointerId); fromMap(e); });
map.addEventListener("pointermove", e => { if (e.buttons) fromMap(e); });

// -- the width of the panel
const divider = document.getElementById("divider"), aside = document.querySelector("aside");
const widen = w => { aside.style.width = clamp(w, 280, innerWidth - 320) + "px"; resize(); };
divider.addEventListener("pointerdown", e => divider.setPointerCapture(e.pointerId));
divider.addEventListener("pointermove", e => { if (e.buttons) widen(innerWidth - e.clientX); });
divider.addEventListener("keydown", e => { if (e.key === "ArrowLeft") widen(aside.offsetWidth + 40); if (e.key === "ArrowRight") widen(aside.offsetWidth - 40); });

// -- buttons
function setColour(name) {
  shown.colour = Object.hasOwn(METRICS, name) ? name : "kind";
  buttons.colour.value = shown.colour;
  colourBoxes();
  drawLegend();
  redraw();
}
buttons.colour.addEventListener("change", () => { setColour(buttons.colour.value); remember(); });
buttons.fit.addEventListener("click", fitAll);
buttons.all.addEventListener("click", () => {
  const keys = everyKey(), whole = [...keys].every(k => open.has(k));
  open.clear();
  if (!whole) for (const k of keys) open.add(k);
  relayout();
  shown.selected ? centre(shown.selected, 0) : fitStart();
  remember();
});
function setModules(on) {
  grouped = on && hasModules;
  buttons.modules.setAttribute("aria-pressed", grouped);
}
buttons.wrap.addEventListener("click", () => {
  wrapped = !wrapped;
  relayout();
  shown.selected ? centre(shown.selected, 0) : fitStart();
  remember();
});
buttons.modules.addEventListener("click", () => { setModules(!grouped); relayout(); fitStart(); remember(); });

// -- the address
function remember() {
  if (restoring) return;
  const state = new URLSearchParams();
  if (current && current.node !== undefined) state.set("node", nodes[current.node].name || "#" + current.node);
  if (query.value) state.set("search", query.value);
  if (tab !== "overview") state.set("tab", tab);
  if (shown.colour !== "kind") state.set("colour", shown.colour);
  if (grouped) state.set("modules", "1");
  if (!wrapped) state.set("columns", "0");
  if (everyKey().size && [...everyKey()].every(k => open.has(k))) state.set("open", "all");
  try { history.replaceState(null, "", "#" + state); } catch { /* some viewers of files have no history */ }
}
function restore() {
  restoring = true;
  const state = new URLSearchParams(location.hash.slice(1)), name = state.get("node");
  setModules(state.has("modules") ? state.get("modules") === "1" : hasModules && nodes.length > 60);
  wrapped = state.get("columns") !== "0";
  open.clear();
  if (state.get("open") === "all") for (const k of everyKey()) open.add(k);
  query.value = state.get("search") || "";
  current = null;
  relayout();
  setColour(state.get("colour") || (timed ? "time" : "kind"));
  state.get("zoom") === "fit" ? fitAll() : fitStart();
  if (query.value) search();
  const n = name ? nodes.find(x => x.name === name || "#" + x.id === name) : null;
  if (n) select(n.id, true);
  showTab(state.get("tab") || (n ? "node" : "overview"));
  restoring = false;
}

function start() {
  const m = data.model;
  document.title = m.name + " · wick inspect";
  document.getElementById("title").textContent = m.name;
  document.getElementById("subtitle").textContent = [number(nodes.length) + " nodes", countText(total.parameters) + " parameters", bytesText(m.file_bytes),
    data.profile ? msText(data.profile.median_ms) + " a run" : ""].filter(Boolean).join(" · ");
  buttons.colour.append(el("option", { value: "kind" }, "kind of op"));
  for (const [key, metric] of Object.entries(METRICS)) if (nodes.some(n => metric.of(n) > 0)) buttons.colour.append(el("option", { value: key }, metric.name));
  buttons.modules.hidden = !hasModules;
  const style = getComputedStyle(document.documentElement);
  ink.sans = style.getPropertyValue("--sans");
  ink.mono = style.getPropertyValue("--mono");
  readInk();
  makeTabs();
  resize();
  restore();
  draw();
  addEventListener("resize", resize);
  addEventListener("hashchange", restore);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readInk(); colourBoxes(); drawLegend(); redraw(); });
  const d = document.documentElement.dataset;
  d.nodes = nodes.length;
  d.boxes = scene.boxes.length;
  d.wires = scene.wires.length;
  d.status = "ready";
}
function broken(what) {
  document.documentElement.dataset.status = "error: " + what;
  if (!document.getElementById("broken")) document.querySelector("main").prepend(el("pre", { id: "broken", role: "alert" }, "This page's script failed: " + what));
}
addEventListener("error", e => broken(e.message));
try { start(); } catch (e) { broken(e.stack || String(e)); }
