"use strict";
// Computes what is drawn: boxes (nodes, ports, closed groups, and open ones around their contents) and wires between
// them, in absolute coordinates. Regions of If and Loop, and modules, open and close.
const open = new Set();       // keys of open boxes
let grouped = false;          // modules are boxes
let wrapped = true;           // a tall graph continues in columns
let scene = { boxes: [], wires: [], w: 0, h: 0, ofNode: [] };

const PAD = 14, HEAD = 26, LINE = 15;
const regionKey = n => "n" + n.id;
const within = (ids, list = []) => {  // includes nodes of regions inside
  for (const id of ids) {
    list.push(id);
    for (const r of nodes[id].regions || []) within(regionNodes[r], list);
  }
  return list;
};
const clip = (text, most) => text.length <= most ? text : text.slice(0, most / 2 - 1) + "…" + text.slice(text.length - most / 2);
const wide = lines => Math.min(232, Math.max(96, 22 + Math.max(...lines.map((l, i) => l.length * (i === 0 ? 8 : 6.5)))));

function nodeBox(n) {
  const out = firstOutput(n), lines = [n.op];
  if (n.name) lines.push(clip(n.name, 32));
  if (n.regions) lines.push("▸ " + within([n.id]).length + " nodes inside");
  else if (out !== undefined) lines.push(clip((SHORT[values[out].type] || values[out].type) + " " + sizeText(values[out]), 32));
  const side = timed && nodeMs(n) > 0 ? msText(nodeMs(n)) : "";
  const w = Math.max(wide(lines), 34 + n.op.length * 8 + side.length * 6.4);
  return { kind: "node", node: n, lines, side, tint: opClass(n.op), w, h: 14 + LINE * lines.length };
}
function portBox(value, role) {
  const v = values[value], lines = [clip(v.name || role, 30), clip(role + " · " + (SHORT[v.type] || v.type) + " " + sizeText(v), 34)];
  return { kind: "port", value, role, lines, side: "", tint: "port", w: wide(lines) + 8, h: 14 + LINE * lines.length };
}
function groupBox(key, title, ids) {
  const all = within(ids).map(id => nodes[id]), used = new Set();
  for (const n of all) for (const v of n.inputs) if (v >= 0 && values[v].constant !== undefined) used.add(values[v].constant);
  let weights = 0;
  for (const c of used) weights += constants[c].elements;
  const lines = [title, all.length + " nodes", countText(weights) + " parameters"];
  const ms = ids.reduce((s, id) => s + nodeMs(nodes[id]), 0), side = timed ? msText(ms) : "";
  return { kind: "group", key, ids, lines, side, ms, tint: "port", w: Math.max(wide(lines), 34 + title.length * 8 + side.length * 6.4), h: 14 + LINE * 3 };
}

// Makes a box around others that were laid out on their own.
function around(box, parts) {
  let x = PAD, h = 0;
  for (const part of parts) {
    part.x = x;
    part.y = HEAD + (part.title ? 18 : 6);
    x += part.w + PAD;
    h = Math.max(h, part.y + part.h);
  }
  box.parts = parts;
  box.kind = "open";
  box.w = Math.max(x, box.lines[0].length * 8 + box.side.length * 7 + 60);
  box.h = h + PAD;
  return box;
}

// A module that all of them share does not group anything.
function pastShared(ids, depth) {
  for (;; ++depth) {
    const names = new Set();
    for (const id of ids) if (modulePath(nodes[id]).length > depth) names.add(nodes[id].path[depth]);
    if (names.size !== 1) return depth;
  }
}
// Returns items of a list of nodes: each node alone, or those of one module together.
function itemsOf(ids, depth, place) {
  const items = [], byKey = new Map();
  const add = (item, members) => { items.push(item); for (const id of within(members)) place.set(id, items.length - 1); };
  if (grouped) {
    depth = pastShared(ids, depth);
    for (const id of ids) {
      const path = modulePath(nodes[id]);
      if (path.length > depth) {
        const key = path[depth];
        byKey.has(key) ? byKey.get(key).push(id) : byKey.set(key, [id]);
      }
    }
  }
  const done = new Set();
  for (const id of ids) {
    if (done.has(id)) continue;
    const n = nodes[id], path = grouped ? modulePath(n) : [], members = path.length > depth ? byKey.get(path[depth]) : [id];
    if (members.length > 1) {
      let deep = depth + 1;  // a module of one module is one box
      while (members.every(m => modulePath(nodes[m]).length > deep && nodes[m].path[deep] === n.path[deep])) ++deep;
      const key = "m" + n.region + "/" + n.path.slice(0, deep).join("/");
      const box = groupBox(key, n.path.slice(depth, deep).join("."), members);
      members.forEach(m => done.add(m));
      add(open.has(key) ? around(box, [arrange(members, deep, [], [])]) : box, members);
    } else if (n.regions && open.has(regionKey(n))) {
      const parts = n.regions.map(r => {
        const part = arrange(regionNodes[r], 0, regions[r].inputs, regions[r].outputs);
        part.title = regions[r].title;
        return part;
      });
      add(around({ ...nodeBox(n), key: regionKey(n) }, parts), [id]);
    } else {
      add(n.regions ? { ...nodeBox(n), key: regionKey(n) } : nodeBox(n), [id]);
    }
  }
  return items;
}

function arrange(ids, depth, inputs, outputs, wrap) {
  const place = new Map(), made = new Map();
  const ports = inputs.filter(v => values[v].constant === undefined).map(v => portBox(v, "input"));
  const rest = itemsOf(ids, depth, place);
  for (const [id, at] of place) place.set(id, at + ports.length);
  const items = [...ports, ...rest], edges = [], pairs = new Map();
  ports.forEach((p, i) => made.set(p.value, i));
  for (const id of ids) for (const v of nodes[id].outputs) if (v >= 0) made.set(v, place.get(id));
  const join = (v, to, reader) => {
    const from = made.get(v);
    if (from === undefined || from === to) return;
    const key = from * 65536 + to, old = pairs.get(key);
    if (old) return void old.uses.push({ value: v, reader });
    const e = { from, to, uses: [{ value: v, reader }] };
    pairs.set(key, e);
    edges.push(e);
  };
  for (const id of ids) for (const v of new Set(nodes[id].inputs)) join(v, place.get(id), id);
  for (const v of outputs) {
    items.push(portBox(v, "output"));
    join(v, items.length - 1, -1);
  }
  const size = layered(items, edges, wrap);
  return { items, edges, w: size.w, h: size.h, tall: size.tall };
}

// Lays out everything again.
function build() {
  const part = arrange(regionNodes[0], 0, regions[0].inputs, regions[0].outputs, wrapped);
  scene = { boxes: [], wires: [], w: part.w, h: part.h, tall: part.tall, ofNode: new Array(nodes.length), ofPort: new Map() };
  flatten(part, 0, 0);
  scene.boxes.forEach((b, i) => { b.id = i; });
  return scene;
}
function flatten(part, x0, y0) {
  for (const it of part.items) {
    it.ax = x0 + it.x;
    it.ay = y0 + it.y;
    scene.boxes.push(it);
    if (it.kind === "port") scene.ofPort.set(it.role + it.value, it);
    for (const id of it.kind === "group" ? within(it.ids) : it.node ? within([it.node.id]) : []) scene.ofNode[id] = it;
    for (const inner of it.parts || []) flatten(inner, it.ax + inner.x, it.ay + inner.y);
    if (it.kind === "open" && it.node) scene.ofNode[it.node.id] = it;
  }
  for (const e of part.edges) {
    // Starts from the very node inside an open box, if there is one.
    const first = e.uses[0], from = exact(part.items[e.from], maker[first.value]), to = exact(part.items[e.to], first.reader);
    const a = [from.ax + from.w / 2, from.ay + from.h], b = [to.ax + to.w / 2, to.ay];
    const points = e.points && !e.back ? [a, ...e.points.map(([x, y, corner]) => [x0 + x, y0 + y, corner]), b] : null;
    const wire = { from, to, uses: e.uses, a, b, points };
    const xs = (points || [a, b]).map(p => p[0]), ys = (points || [a, b]).map(p => p[1]);
    wire.left = Math.min(...xs);
    wire.right = Math.max(...xs);
    wire.top = Math.min(...ys);
    wire.bottom = Math.max(...ys);
    scene.wires.push(wire);
  }
}
const exact = (item, node) => item.kind === "open" && !item.node && node >= 0 && scene.ofNode[node] || item;

const everyKey = () => {
  const keys = nodes.filter(n => n.regions).map(regionKey);
  if (grouped) {
    for (const n of nodes) {
      const path = modulePath(n);
      for (let d = 1; d <= path.length; ++d) keys.push("m" + n.region + "/" + path.slice(0, d).join("/"));
    }
  }
  return new Set(keys);
};
// Opens what hides a node; returns whether there was anything.
function uncover(id) {
  const before = open.size;
  for (let n = nodes[id]; ; n = nodes[regions[n.region].owner]) {
    if (grouped) {
      const path = modulePath(n);
      for (let d = 1; d <= path.length; ++d) open.add("m" + n.region + "/" + path.slice(0, d).join("/"));
    }
    if (regions[n.region].owner < 0) break;
    open.add(regionKey(nodes[regions[n.region].owner]));
  }
  return open.size !== before;
}
