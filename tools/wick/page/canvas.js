"use strict";
// The picture: draws the scene's boxes and wires that are in view, at the detail that their size allows; pan and zoom;
// the small map.
const graph = document.getElementById("graph"), map = document.getElementById("map");
const pen = graph.getContext("2d"), mapPen = map.getContext("2d");
const view = { x: 0, y: 0, zoom: 1, w: 0, h: 0 };
const shown = { selected: null, hover: null, hits: null, colour: "kind" };
let ink = {}, mapPicture = null, due = false;

// -- colours
function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "card", "ink", "soft", "line", "grid", "accent", "on-accent", "mark", "edge", "box"])
    ink[name] = style.getPropertyValue("--" + name).trim();
  ink.tint = {};
  for (const name of Object.keys(CLASS_NAMES)) ink.tint[name] = style.getPropertyValue("--c-" + name).trim();
  ink.dark = matchMedia("(prefers-color-scheme: dark)").matches;
}
const HEAT = { light: [[255, 255, 255], [255, 224, 138], [242, 132, 61], [179, 33, 40]],
  dark: [[27, 33, 41], [92, 62, 18], [186, 94, 20], [255, 170, 92]] };
function heat(t) {
  const stops = HEAT[ink.dark ? "dark" : "light"], at = Math.min(0.999, Math.max(0, t)) * (stops.length - 1), k = Math.floor(at);
  return stops[k].map((c, i) => Math.round(c + (stops[k + 1][i] - c) * (at - k)));
}
// Returns ink that is readable on the colour (WCAG's relative luminance).
function inkOn([r, g, b]) {
  const lin = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const l = 0.2126 * lin(r) + 0.7152 * lin(g) + 0.0722 * lin(b);
  return l > 0.22 ? "#10151c" : "#ffffff";
}
const METRICS = {
  time: { name: "time", of: n => nodeMs(n), text: msText },
  flops: { name: "FLOPs", of: n => n.flops || 0, text: x => countText(x) },
  moved: { name: "bytes read and written", of: movedBytes, text: bytesText },
};
function boxMetric(b) {
  const metric = METRICS[shown.colour];
  if (!metric || b.kind === "port" || b.kind === "open") return 0;
  return b.kind === "group" ? b.ids.reduce((s, id) => s + metric.of(nodes[id]), 0) : metric.of(b.node);
}
function colourBoxes() {
  let most = 0;
  for (const b of scene.boxes) most = Math.max(most, b.metric = boxMetric(b));
  for (const b of scene.boxes) b.heat = METRICS[shown.colour] && b.kind !== "port" ? Math.sqrt(most ? b.metric / most : 0) : null;
  scene.most = most;
  mapPicture = null;
}

// -- view
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
const least = () => Math.min(0.5, 0.9 * Math.min(view.w / (scene.w + 80), view.h / (scene.h + 80)));
function zoomAt(factor, sx, sy) {
  const zoom = clamp(view.zoom * factor, least(), 3);
  view.x += sx / view.zoom - sx / zoom;
  view.y += sy / view.zoom - sy / zoom;
  view.zoom = zoom;
  redraw();
}
function fitAll() {
  view.zoom = clamp(Math.min(view.w / (scene.w + 60), view.h / (scene.h + 110)), 0.002, 1.2);
  view.x = scene.w / 2 - view.w / view.zoom / 2;
  view.y = scene.h / 2 - view.h / view.zoom / 2;
  redraw();
}
// Shows the beginning of the graph at a readable size, or all of it if that is readable.
function fitStart() {
  fitAll();
  if (view.zoom >= 0.6) return;
  view.zoom = clamp(view.w / (scene.w + 60), scene.tall ? 0.7 : 0.45, 1);
  const first = scene.boxes.find(b => b.ay === 0) || { ax: scene.w / 2, w: 0 };
  const middle = scene.w * view.zoom + 60 <= view.w ? scene.w / 2 : first.ax + first.w / 2;
  // The columns continue to the right: begin next to the map.
  view.x = scene.tall && scene.w > scene.h / 5 ? -200 / view.zoom : middle - view.w / view.zoom / 2;
  view.y = -70 / view.zoom;
  redraw();
}
function centre(b, zoom) {
  if (zoom) view.zoom = zoom;
  view.x = b.ax + b.w / 2 - view.w / view.zoom / 2;
  view.y = b.ay + Math.min(b.h, view.h / view.zoom * 0.8) / 2 - view.h / view.zoom / 2;
  redraw();
}
function resize() {
  const ratio = window.devicePixelRatio || 1, r = graph.getBoundingClientRect();
  view.w = r.width;
  view.h = r.height;
  graph.width = Math.max(1, Math.round(r.width * ratio));
  graph.height = Math.max(1, Math.round(r.height * ratio));
  redraw();
}
function boxAt(sx, sy) {
  const x = view.x + sx / view.zoom, y = view.y + sy / view.zoom;
  let found = null;  // the innermost one
  for (const b of scene.boxes)
    if (x >= b.ax && x <= b.ax + b.w && y >= b.ay && y <= b.ay + b.h && (!found || b.w * b.h < found.w * found.h)) found = b;
  return found;
}

// -- drawing
function redraw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; draw(); });
}
function draw() {
  const ratio = window.devicePixelRatio || 1, z = view.zoom;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = ink.paper;
  pen.fillRect(0, 0, view.w, view.h);
  pen.setTransform(ratio * z, 0, 0, ratio * z, -view.x * z * ratio, -view.y * z * ratio);
  const left = view.x, top = view.y, right = left + view.w / z, bottom = top + view.h / z;
  const inView = b => b.ax < right && b.ax + b.w > left && b.ay < bottom && b.ay + b.h > top;
  let drawn = 0;
  for (const b of scene.boxes) if (b.kind === "open" && inView(b)) { openBox(b, z); ++drawn; }
  const near = [];
  pen.lineWidth = Math.max(1.1, 0.6 / z);
  pen.strokeStyle = ink.edge;
  pen.globalAlpha = 0.75;
  for (const w of scene.wires) {
    if (w.left > right || w.right < left || w.top > bottom || w.bottom < top) continue;
    if (touches(w)) near.push(w); else wire(w, z);
  }
  pen.globalAlpha = 1;
  pen.strokeStyle = pen.fillStyle = ink.accent;
  pen.lineWidth = Math.max(2, 1.4 / z);
  for (const w of near) wire(w, z, true);
  for (const b of scene.boxes) if (b.kind !== "open" && inView(b)) { leaf(b, z); ++drawn; }
  drawMap();
  document.documentElement.dataset.drawn = drawn;
}
const touches = w => shown.selected && (w.from === shown.selected || w.to === shown.selected);

function wire(w, z, whole) {
  const points = w.points || (whole ? [w.a, w.b] : null);
  pen.beginPath();
  if (!points) {  // a long one shows only where it starts and ends
    pen.moveTo(w.a[0], w.a[1]);
    pen.lineTo(w.a[0], w.a[1] + 13);
    pen.moveTo(w.b[0] + 5, w.b[1] - 13);
    pen.lineTo(w.b[0] + 5, w.b[1]);
    pen.setLineDash([2, 3]);
    pen.stroke();
    pen.setLineDash([]);
    return;
  }
  pen.moveTo(points[0][0], points[0][1]);
  for (let i = 1; i < points.length; ++i) {
    const [x0, y0, corner] = points[i - 1], [x1, y1, next] = points[i];
    if (next) pen.arcTo(x1, y1, points[i + 1][0], points[i + 1][1], 10);
    else if (corner || z < 0.2 || x0 === x1) pen.lineTo(x1, y1);
    else pen.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
  }
  pen.stroke();
  if (z < 0.3) return;
  const [x, y] = points[points.length - 1];
  pen.beginPath();
  pen.moveTo(x - 3.5, y - 6);
  pen.lineTo(x + 3.5, y - 6);
  pen.lineTo(x, y);
  pen.fillStyle = whole ? ink.accent : ink.edge;
  pen.fill();
}

function frame(b, radius) {
  pen.beginPath();
  pen.roundRect(b.ax, b.ay, b.w, b.h, radius);
}
function openBox(b, z) {
  frame(b, 10);
  pen.fillStyle = ink.box;
  pen.fill();
  pen.lineWidth = Math.max(b === shown.selected ? 2.5 : 1.2, 0.7 / z);
  pen.strokeStyle = b === shown.selected ? ink.accent : ink.tint[b.tint];
  pen.stroke();
  if (z < 0.22) return;
  pen.textBaseline = "middle";
  pen.fillStyle = ink.ink;
  const size = clamp(9.5 / z, 12.5, 18);
  pen.font = `600 ${size}px ${ink.sans}`;
  pen.fillText("▾ " + b.lines[0], b.ax + 12, b.ay + 14);
  const after = pen.measureText("▾ " + b.lines[0] + "  ").width;
  pen.fillStyle = ink.soft;
  pen.font = `${size - 1}px ${ink.sans}`;
  pen.fillText(clip((b.node ? b.node.name + "  " : "") + b.side, Math.max(8, Math.floor((b.w - after - 24) / (size / 2)))), b.ax + 12 + after, b.ay + 14);
  if (b.node) for (const part of b.parts) pen.fillText(part.title, b.ax + part.x, b.ay + 33);
}
function leaf(b, z) {
  const dim = shown.hits && !shown.hits.has(b), fill = b.heat !== null && b.heat !== undefined ? heat(b.heat) : null;
  pen.globalAlpha = dim ? 0.28 : 1;
  frame(b, b.kind === "port" ? b.h / 2 : 6);
  pen.fillStyle = fill ? `rgb(${fill})` : z >= 0.2 ? ink.card : b.kind === "port" ? ink.edge : ink.tint[b.tint];
  pen.fill();
  const special = b === shown.selected ? ink.accent : b === shown.hover ? ink.soft : null;
  pen.strokeStyle = special || (shown.hits && !dim ? ink.mark : ink.line);
  pen.lineWidth = Math.max(b === shown.selected ? 3 : special || (shown.hits && !dim) ? 2.2 : 1.1, (special ? 2 : 0.5) / z);
  pen.stroke();
  if (z >= 0.2) {
    if (b.kind !== "port") {
      pen.fillStyle = ink.tint[b.tint];
      pen.beginPath();
      pen.roundRect(b.ax, b.ay, 6, b.h, [6, 0, 0, 6]);
      pen.fill();
    }
    words(b, z, fill ? inkOn(fill) : ink.ink, fill ? inkOn(fill) : ink.soft);
  }
  if (b.kind === "group" && z >= 0.2) {  // drawn as a stack
    pen.strokeStyle = ink.line;
    pen.lineWidth = 1.1;
    pen.beginPath();
    pen.moveTo(b.ax + 8, b.ay + b.h + 3);
    pen.lineTo(b.ax + b.w - 4, b.ay + b.h + 3);
    pen.stroke();
  }
  pen.globalAlpha = 1;
}
function words(b, z, strong, weak) {
  pen.textBaseline = "middle";
  const x = b.ax + (b.kind === "port" ? b.w / 2 : 14);
  pen.textAlign = b.kind === "port" ? "center" : "left";
  pen.fillStyle = strong;
  if (z < 0.5) {  // one line, as large as the box allows
    const size = clamp(10.5 / z, 13, Math.min(b.h * 0.62, 1.55 * (b.w - 24) / b.lines[0].length));
    pen.font = `600 ${size}px ${ink.sans}`;
    pen.fillText(b.lines[0], x, b.ay + b.h / 2);
  } else {
    b.lines.forEach((line, i) => {
      pen.fillStyle = i === 0 ? strong : weak;
      pen.font = i === 0 ? "600 13px " + ink.sans : i === 1 && b.lines.length > 2 ? "11.5px " + ink.sans : "11px " + ink.mono;
      pen.fillText(line, x, b.ay + 7 + LINE * (i + 0.5), b.w - 20);
    });
    if (b.side) {
      pen.textAlign = "right";
      pen.fillStyle = weak;
      pen.font = "11.5px " + ink.sans;
      pen.fillText(b.side, b.ax + b.w - 9, b.ay + 7 + LINE * 0.5);
    }
  }
  pen.textAlign = "left";
}

// -- The map is stretched to its frame, so that a chain of a thousand nodes has a width
const mapAt = { sx: 1, sy: 1, x: 0, y: 0 };
function drawMap() {
  const ratio = window.devicePixelRatio || 1, w = map.clientWidth, h = map.clientHeight;
  if (!mapPicture) {
    map.width = w * ratio;
    map.height = h * ratio;
    mapAt.sy = (h - 12) / Math.max(scene.h, 1);
    mapAt.sx = Math.min((w - 12) / Math.max(scene.w, 1), mapAt.sy * 8, 0.12);
    mapAt.sy = Math.min(mapAt.sy, 0.12);
    mapAt.x = (w - scene.w * mapAt.sx) / 2;
    mapAt.y = (h - scene.h * mapAt.sy) / 2;
    mapPicture = document.createElement("canvas");
    mapPicture.width = map.width;
    mapPicture.height = map.height;
    const p = mapPicture.getContext("2d");
    p.scale(ratio, ratio);
    for (const b of scene.boxes) {
      p.fillStyle = b.kind === "open" ? ink.box : b.heat !== null && b.heat !== undefined ? `rgb(${heat(0.15 + 0.85 * b.heat)})` : ink.tint[b.tint];
      p.fillRect(mapAt.x + b.ax * mapAt.sx, mapAt.y + b.ay * mapAt.sy, Math.max(1.5, b.w * mapAt.sx), Math.max(1, b.h * mapAt.sy));
    }
  }
  map.style.visibility = scene.w * view.zoom < view.w && scene.h * view.zoom < view.h ? "hidden" : "visible";
  mapPen.setTransform(1, 0, 0, 1, 0, 0);
  mapPen.clearRect(0, 0, map.width, map.height);
  mapPen.drawImage(mapPicture, 0, 0);
  mapPen.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (shown.hits) {
    mapPen.fillStyle = ink.mark;
    for (const b of shown.hits) mapPen.fillRect(mapAt.x + b.ax * mapAt.sx - 2, mapAt.y + b.ay * mapAt.sy - 1, 6, 3);
  }
  const x = clamp(mapAt.x + view.x * mapAt.sx, 1, w - 5), y = clamp(mapAt.y + view.y * mapAt.sy, 1, h - 4);
  const right = clamp(mapAt.x + (view.x + view.w / view.zoom) * mapAt.sx, x + 4, w - 1);
  const bottom = clamp(mapAt.y + (view.y + view.h / view.zoom) * mapAt.sy, y + 3, h - 1);
  mapPen.strokeStyle = ink.accent;
  mapPen.lineWidth = 1.5;
  mapPen.strokeRect(x, y, right - x, bottom - y);
}

// -- legend
function drawLegend() {
  const legend = document.getElementById("legend"), metric = METRICS[shown.colour];
  legend.replaceChildren();
  if (!metric) {
    const used = new Set(nodes.map(n => opClass(n.op)));
    for (const [key, name] of Object.entries(CLASS_NAMES)) if (used.has(key)) legend.append(el("span", {}, swatch(ink.tint[key]), name));
    return;
  }
  const bar = el("i", { class: "scale" });
  bar.style.background = `linear-gradient(90deg, ${[0, .25, .5, .75, 1].map(t => `rgb(${heat(t)})`).join(", ")})`;
  legend.append(metric.name, bar, el("span", { class: "ends" }, el("span", {}, "0"), el("span", {}, metric.text(scene.most))));
}
function swatch(colour) {
  const i = el("i");
  i.style.background = colour;
  return i;
}
