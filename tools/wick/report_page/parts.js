// Elements and charts that pages are made of. All text goes through textContent.
'use strict';

function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k === 'style') for (const [p, x] of Object.entries(v)) e.style.setProperty(p, x);
    else e.setAttribute(k, v === true ? '' : v);
  }
  for (const c of children.flat()) if (c !== null && c !== undefined) e.append(c);
  return e;
}
function svg(tag, attributes, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  for (const c of children.flat()) if (c !== null && c !== undefined) e.append(c);
  return e;
}

const isNumber = v => typeof v === 'number' && Number.isFinite(v);
function short(v, digits = 4) {
  if (!isNumber(v)) return '–';
  if (v === 0) return '0';
  const a = Math.abs(v);
  if (a >= 1e6 || a < 1e-4) return v.toExponential(2);
  return String(Number(v.toPrecision(digits)));
}
const percent = (v, digits = 2) => isNumber(v) ? (100 * v).toFixed(digits) + '\u00a0%' : '–';
function bytes(n) {
  if (!isNumber(n)) return '–';
  for (const [unit, size] of [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]])
    if (n >= size) return (n / size).toFixed(n >= 100 * size ? 0 : n >= 10 * size ? 1 : 2) + ' ' + unit;
  return n + ' bytes';
}
function seconds(s) {
  if (!isNumber(s)) return '–';
  if (s >= 100) return s.toFixed(0) + ' s';
  if (s >= 1) return s.toFixed(2) + ' s';
  if (s >= 1e-3) return (s * 1e3).toFixed(2) + ' ms';
  return (s * 1e6).toFixed(1) + ' µs';
}

function section(title, note, wide) {
  const s = make('section', {class: wide ? 'wide' : null, 'aria-label': title}, make('h2', {}, title));
  if (note) s.append(make('p', {class: 'note'}, note));
  document.getElementById('page').append(s);
  return s;
}

// Columns: {name, number: bool}. Cells are texts or elements; the first one is the row's header.
function table(caption, columns, rows, kind) {
  const head = make('tr', {}, columns.map(c => make('th', {scope: 'col', class: c.number ? 'n' : null}, c.name)));
  const body = rows.map(r => make('tr', {}, r.map((cell, i) => i === 0
    ? make('th', {scope: 'row'}, cell)
    : make('td', {class: columns[i].number ? 'n' : columns[i].kind || null}, cell))));
  return make('div', {class: 'scroll'}, make('table', {class: kind || null},
    caption ? make('caption', {}, caption) : null, make('thead', {}, head), make('tbody', {}, body)));
}
const folded = (title, content) => make('details', {}, make('summary', {}, title), content);

function legend(items) {
  return make('div', {class: 'legend'}, items.map(i => make('span', {},
    make('i', {style: {background: i.colour}}), i.name, i.value === undefined ? null : make('b', {}, i.value))));
}

function ticks(low, high, wanted) {
  const raw = (high - low) / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw * 0.999) || raw;
  const list = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) list.push(k * step);
  return list;
}

// series: [{name, colour, points: [[x, y]]}]; a y that is no number makes a gap. `unit` names what x counts.
function lineChart(label, series, format, unit = 'epoch') {
  const W = 560, H = 230, left = 56, right = 14, top = 12, bottom = 30;
  const all = series.flatMap(s => s.points).filter(p => isNumber(p[0]) && isNumber(p[1]));
  if (all.length === 0) return make('p', {class: 'note'}, 'no values');
  let [x0, x1] = [Math.min(...all.map(p => p[0])), Math.max(...all.map(p => p[0]))];
  let [y0, y1] = [Math.min(...all.map(p => p[1])), Math.max(...all.map(p => p[1]))];
  if (x0 === x1) { x0 -= 1; x1 += 1; }
  if (y0 === y1) { const d = Math.abs(y0) * 0.1 || 1; y0 -= d; y1 += d; }
  const pad = (y1 - y0) * 0.06;
  y0 = y0 >= 0 && y0 - pad < 0 ? 0 : y0 - pad;
  y1 += pad;
  const X = x => left + (x - x0) / (x1 - x0) * (W - left - right);
  const Y = y => H - bottom - (y - y0) / (y1 - y0) * (H - top - bottom);
  const g = svg('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': label});
  for (const t of ticks(y0, y1, 5)) {
    g.append(svg('line', {class: 'grid', x1: left, x2: W - right, y1: Y(t), y2: Y(t)}));
    g.append(svg('text', {x: left - 7, y: Y(t) + 4, 'text-anchor': 'end'}, format(t)));
  }
  for (const t of ticks(x0, x1, 8).filter(Number.isInteger)) {
    g.append(svg('text', {x: X(t), y: H - bottom + 16, 'text-anchor': 'middle'}, String(t)));
  }
  g.append(svg('line', {class: 'axis', x1: left, x2: W - right, y1: H - bottom, y2: H - bottom}));
  g.append(svg('text', {x: (left + W - right) / 2, y: H - 1, 'text-anchor': 'middle'}, unit));
  for (const s of series) {
    let path = '', drawing = false;
    for (const [x, y] of s.points) {
      if (!isNumber(x) || !isNumber(y)) { drawing = false; continue; }
      path += (drawing ? 'L' : 'M') + X(x).toFixed(1) + ' ' + Y(y).toFixed(1);
      drawing = true;
    }
    g.append(svg('path', {class: 'curve', d: path, stroke: s.colour, 'stroke-dasharray': s.dashed ? '6 4' : 'none'}));
    for (const [x, y] of s.points.length > 60 ? [] : s.points) {
      if (!isNumber(x) || !isNumber(y)) continue;
      g.append(svg('circle', {cx: X(x), cy: Y(y), r: 3.2, fill: s.colour},
        svg('title', {}, `${s.name}, ${unit} ${x}: ${format(y)}`)));
    }
  }
  return g;
}

// parts: [{name, value}] -> a bar, a legend with values and shares.
function stacked(label, parts, format) {
  const shown = parts.filter(p => isNumber(p.value) && p.value > 0);
  const total = shown.reduce((a, p) => a + p.value, 0);
  if (total <= 0) return make('p', {class: 'note'}, 'nothing was measured');
  const colour = i => `var(--s${i % 8})`;
  return make('div', {},
    make('div', {class: 'stack', role: 'img', 'aria-label': label + ': ' +
      shown.map(p => `${p.name} ${(100 * p.value / total).toFixed(1)} %`).join(', ')},
      shown.map((p, i) => make('i', {title: `${p.name}: ${format(p.value)}`,
        style: {width: (100 * p.value / total) + '%', background: colour(i)}}))),
    table(null, [{name: 'part'}, {name: 'amount', number: true}, {name: 'share', number: true}],
      shown.map((p, i) => [make('span', {class: 'legend', style: {margin: '0'}}, make('span', {},
        make('i', {style: {background: colour(i)}}), p.name)), format(p.value),
        (100 * p.value / total).toFixed(1) + ' %'])
        .concat([['total', format(total), '']])));
}

// One row for each epoch; darker is more. h: {min, max, counts} of each epoch.
function ridge(label, epochs) {
  const W = 250, row = Math.max(6, Math.min(18, 120 / epochs.length)), H = row * epochs.length + 16;
  const low = Math.min(...epochs.map(e => e.h.min)), high = Math.max(...epochs.map(e => e.h.max));
  const g = svg('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': label});
  const range = high - low || 1;
  epochs.forEach((e, k) => {
    const most = Math.max(1, ...e.h.counts), n = e.h.counts.length;
    const from = (e.h.min - low) / range * W, width = (e.h.max - e.h.min) / range * W;
    e.h.counts.forEach((c, i) => {
      if (c <= 0) return;
      g.append(svg('rect', {x: from + width * i / n, y: k * row + 0.5, width: Math.max(0.8, width / n + 0.15),
        height: row - 1, fill: `rgba(var(--heat), ${(0.12 + 0.88 * Math.sqrt(c / most)).toFixed(3)})`}));
    });
    g.append(svg('rect', {x: 0, y: k * row, width: W, height: row, fill: 'transparent'},
      svg('title', {}, `epoch ${e.epoch}: mean ${short(e.h.mean)}, std ${short(e.h.std)}, ` +
        `${short(e.h.min)} to ${short(e.h.max)}`)));
  });
  const y = H - 3;
  g.append(svg('text', {x: 0, y}, short(low, 3)));
  g.append(svg('text', {x: W, y, 'text-anchor': 'end'}, short(high, 3)));
  if (low < 0 && high > 0) {
    const x = -low / range * W;
    g.append(svg('line', {class: 'axis', x1: x, x2: x, y1: 0, y2: H - 15}));
    if (x > 60 && x < W - 60) g.append(svg('text', {x, y, 'text-anchor': 'middle'}, '0'));
  }
  return g;
}
