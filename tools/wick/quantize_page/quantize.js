// The report of a quantized model. tools/wick/quantize/quantize.cc makes the data: null decibels mean that nothing is lost.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const c = data.comparison;
const EXACT = 80;  // where a chart puts exact layers

const db = v => v === null ? 'exact' : v.toFixed(1) + ' dB';
const grade = v => v === null || v >= 30 ? 'good' : v >= 15 ? 'fair' : 'poor';
const worst = e => e.channel_db === null ? e.sqnr_db : e.channel_db;

function bar(v, what) {
  const width = v === null ? 100 : Math.max(1, Math.min(100, 100 * v / 60));
  return make('div', {class: 'db'}, make('span', {}, db(v)), make('span', {class: 'track', role: 'img',
    'aria-label': `${what}: ${db(v)}`}, make('i', {class: grade(v), style: {width: width + '%'}})));
}

function figures() {
  const s = section('Before and after', null, true);
  const list = [];
  const add = (value, small, name) => list.push(make('div', {}, make('b', {}, value,
    small ? make('small', {}, ' ' + small) : null), make('span', {}, name)));
  const a = data.accuracy;
  if (a) {
    const lost = 100 * (a.before - a.after);
    add(`${percent(a.before)} → ${percent(a.after)}`, null,
      `accuracy, ${Math.abs(lost).toFixed(2)} points ${lost >= 0 ? 'lost' : 'won'}; ${a.data}`);
  }
  add(`${bytes(data.bytes.before)} → ${bytes(data.bytes.after)}`,
    (data.bytes.after / data.bytes.before).toFixed(3) + ' ×', 'bytes as .wick');
  if (data.ms) add(`${short(data.ms.before, 3)} → ${short(data.ms.after, 3)} ms`,
    (data.ms.before / data.ms.after).toFixed(2) + ' × the speed',
    `processor time of a run; batch ${data.ms.items}, ${data.ms.threads} thread${data.ms.threads === 1 ? '' : 's'}, ` +
    `median of ${data.ms.runs}`);
  const integers = Object.entries(data.integer_ops);
  add(String(integers.reduce((n, e) => n + e[1], 0)), null,
    'integer ops: ' + (integers.map(e => `${e[1]} ${e[0]}`).join(', ') || 'none'));
  add(String(data.stayed.length), null, 'ops that stayed float');
  if (c.outputs.length === 1) {
    const o = c.outputs[0];
    add(db(o.sqnr_db), `cosine ${cosine(o)}`, `output ${o.name}, float to QDQ${lowered(c.integer_against_qdq[0], o)}`);
  }
  s.append(make('div', {class: 'figures'}, list));
}

const cosine = o => isNumber(o.cosine) ? o.cosine.toFixed(6) : '–';
// An error beside the largest number that the output should have.
const beside = (error, o) => {
  const most = Math.max(Math.abs(o.min), Math.abs(o.max));
  return short(error, 3) + (most > 0 ? ` (${percent(error / most)} of ${short(most, 3)})` : '');
};
const lowered = (step, o) => step && isNumber(step.max_error)
  ? `; integer ops differ from QDQ by ${beside(step.max_error, o)} at most` : '';

function outputs() {
  if (c.outputs.length < 2) return;
  const s = section('Outputs', 'Signal over error of each output of the QDQ graph against the float graph, its largest error ' +
    'beside the largest number that it should have, and by how much integer ops differ from QDQ.', true);
  const columns = [{name: 'output'}, {name: 'signal over error'}, {name: 'cosine', number: true},
    {name: 'range', number: true}, {name: 'max error', number: true}, {name: 'integer ops', number: true}];
  s.append(table(null, columns, c.outputs.map((o, i) => {
    const step = c.integer_against_qdq[i];
    return [o.name, bar(o.sqnr_db, o.name), cosine(o), `${short(o.min, 3)} to ${short(o.max, 3)}`,
      beside(o.max_error, o), step && isNumber(step.max_error) ? beside(step.max_error, o) : '–'];
  }), 'layerlist'));
}

function tried() {
  if (!data.tried) return;
  const t = data.tried;
  const s = section('Ways that were tried', 'Each way to choose the ranges of activations, and the mean signal over error of ' +
    'the outputs on the calibration data. The one that was kept is marked.', true);
  const scored = t.trials.some(x => isNumber(x.accuracy));
  const columns = [{name: 'ranges'}, {name: 'outputs'}].concat(scored ? [{name: 'accuracy', number: true}] : []);
  const list = table(null, columns, t.trials.map(x => [x.ranges, bar(x.sqnr_db, x.ranges)]
    .concat(scored ? [percent(x.accuracy)] : [])), 'layerlist');
  list.querySelectorAll('tbody tr').forEach((row, i) => {
    if (i === t.best) row.classList.add('named');
  });
  s.append(list);
}

// The models that were made under a budget: bytes along, what is lost upwards, the ones that no other beats joined.
function pareto() {
  const b = data.budget;
  const scored = b.models.every(m => isNumber(m.drop));
  const loss = m => scored ? m.drop : m.sqnr_db === null ? -EXACT : -m.sqnr_db;
  const label = v => scored ? short(v, 3) + ' points' : v <= -EXACT ? 'exact' : (-v).toFixed(1) + ' dB';
  const W = 1180, H = 280, left = 86, right = 20, top = 18, bottom = 36;
  const limits = [scored && isNumber(b.max_drop) ? b.max_drop : null];
  const ys = b.models.map(loss).concat(limits.filter(isNumber));
  const xs = b.models.map(m => m.bytes).concat(isNumber(b.max_bytes) ? [b.max_bytes] : []);
  const low = Math.min(...ys), high = Math.max(...ys, low + 1e-9), small = Math.min(...xs), large = Math.max(...xs, small + 1);
  const X = v => left + (v - small) / (large - small) * (W - left - right);
  const Y = v => H - bottom - (v - low) / (high - low) * (H - top - bottom);
  const g = svg('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', class: 'depth pareto',
    'aria-label': 'Models of several widths: bytes along, loss upwards'});
  for (const t of ticks(low, high, 5)) {
    g.append(svg('line', {class: 'grid', x1: left, x2: W - right, y1: Y(t), y2: Y(t)}));
    g.append(svg('text', {x: left - 7, y: Y(t) + 4, 'text-anchor': 'end'}, label(t)));
  }
  for (const t of ticks(small, large, 6)) g.append(svg('text', {x: X(t), y: H - bottom + 18, 'text-anchor': 'middle'}, bytes(t)));
  if (isNumber(b.max_bytes)) g.append(svg('line', {class: 'mark', x1: X(b.max_bytes), x2: X(b.max_bytes), y1: top, y2: H - bottom},
    svg('title', {}, `at most ${b.max_bytes} bytes`)));
  if (isNumber(limits[0])) g.append(svg('line', {class: 'mark', x1: left, x2: W - right, y1: Y(limits[0]), y2: Y(limits[0])},
    svg('title', {}, `at most ${limits[0]} points`)));
  let path = '', least = Infinity;
  for (const m of b.models.slice().sort((x, y) => x.bytes - y.bytes || loss(x) - loss(y))) {
    if (loss(m) >= least) continue;
    least = loss(m);
    path += (path ? 'L' : 'M') + X(m.bytes).toFixed(1) + ' ' + Y(loss(m)).toFixed(1);
  }
  g.append(svg('path', {class: 'curve', d: path, stroke: 'var(--s0)'}));
  b.models.forEach((m, i) => g.append(svg('circle', {cx: X(m.bytes), cy: Y(loss(m)), r: i === b.best ? 6 : 3.5,
    fill: i === b.best ? 'var(--s1)' : 'var(--s0)'}, svg('title', {}, `${m.bytes} bytes, ${label(loss(m))}: ` +
    Object.entries(m.layers).map(e => `${e[1]} ${e[0]}`).join(', ') + (i === b.best ? ' (kept)' : '')))));
  return make('div', {class: 'scroll'}, g);
}

function budget() {
  if (!data.budget) return;
  const b = data.budget, best = b.models[b.best];
  const asked = [isNumber(b.max_bytes) ? `${bytes(b.max_bytes)} at most` : null,
    isNumber(b.max_drop) ? `${short(b.max_drop, 3)} points lost at most` : null].filter(x => x).join(', ');
  const s = section('Bytes and what they lose', `Models with layers of several widths: ${asked}. The line joins those that no ` +
    'other beats in both; the large point was kept.', true);
  s.append(make('div', {class: 'verdict'}, make('p', {}, make('b', {}, b.met ? 'The budget is met' : 'No model meets the budget'),
    `: ${b.met ? '' : 'the best that was found takes '}${bytes(best.bytes)}` +
    (isNumber(best.drop) ? `, ${short(best.drop, 3)} points lost` : '') + `, ${db(best.sqnr_db)}.`)));
  s.append(pareto());
  const widths = ['int4', 'int8', 'f16'];
  const columns = [{name: 'layer'}, {name: 'width'}, {name: 'numbers', number: true}]
    .concat(widths.map(w => ({name: `alone ${w}`, number: true})));
  const rows = b.layers.map(l => [make('span', {}, l.node, make('small', {}, l.op)), l.width, String(l.elements)]
    .concat(widths.map(w => w in l.alone_db ? db(l.alone_db[w]) : '–')));
  s.append(table(null, columns, rows.slice(0, 20), 'layerlist'));
  if (rows.length > 20) s.append(folded(`${rows.length - 20} more`, table(null, columns, rows.slice(20), 'layerlist')));
}

// Training's advice in place of calibration's.
const advice = data.recipe.mode === 'qat' ? {
  weights: 'One scale holds its weights badly: train longer or with --learn-scales, or leave it float with --skip.',
  result: 'Its result has few values far from all others: train longer or with --learn-scales, or leave it float ' +
    'with --skip.',
} : {
  weights: 'One scale holds its weights badly: use a scale for each output channel (without --per-tensor), ' +
    '--equalize, or leave it float with --skip.',
  result: 'Its result has few values far from all others: try --observer auto or --equalize, or leave ' +
    'it float with --skip.',
};

function verdict() {
  const s = section('Where the error grows', null, true);
  if (c.first_growth === null) {
    s.append(make('p', {class: 'note'}, 'No layer computes with integers.'));
    return;
  }
  const l = c.layers[c.first_growth];
  const box = make('div', {class: 'verdict'}, make('p', {}, make('b', {}, l.node), ` (${l.op}) loses `,
    make('b', {}, l.growth_db.toFixed(1) + ' dB'), ' against its inputs, more than any other layer: ',
    `${db(worst(l.accumulated))} behind it. `,
    l.cause ? `Alone its ${l.cause} lose${l.cause === 'result' ? 's' : ''} more: ` +
      `weights ${db(worst(l.weights_alone))}, result ${db(worst(l.result_alone))}.` : ''));
  if (l.growth_db >= 15 && advice[l.cause]) box.append(make('p', {}, advice[l.cause]));
  if (l.growth_db < 15) box.append(make('p', {}, 'No layer loses much: the error grows evenly.'));
  s.append(box);
}

function depth() {
  const layers = c.layers;
  const s = section('Error along the depth', 'Signal over error of each layer\'s result, averaged over its channels; ' +
    'higher is better. Accumulated: in the whole quantized model. Alone: only this layer is quantized.', true);
  const series = [
    {name: 'accumulated', colour: 'var(--s0)', of: l => worst(l.accumulated), shown: () => true},
    {name: 'alone', colour: 'var(--s2)', of: l => worst(l.own),
      shown: l => worst(l.own) !== null}];
  s.append(legend(series));
  const W = 1180, H = 260, left = 46, right = 14, top = 18, bottom = 34;
  const n = layers.length;
  const values = series.flatMap(x => layers.filter(x.shown).map(x.of)).filter(isNumber);
  const low = Math.min(0, ...values), high = Math.min(EXACT, Math.max(20, ...values) + 5);
  const X = i => left + (n === 1 ? 0.5 : i / (n - 1)) * (W - left - right);
  const Y = v => H - bottom - (Math.min(high, v) - low) / (high - low) * (H - top - bottom);
  const g = svg('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', class: 'depth',
    'aria-label': 'Signal over error in decibels by layer, in order'});
  for (const t of ticks(low, high, 5)) {
    g.append(svg('line', {class: 'grid', x1: left, x2: W - right, y1: Y(t), y2: Y(t)}));
    g.append(svg('text', {x: left - 7, y: Y(t) + 4, 'text-anchor': 'end'}, t + ' dB'));
  }
  const every = Math.ceil(n / 9);
  layers.forEach((l, i) => {
    if (i % every !== 0) return;
    const name = l.node.length > 13 ? '…' + l.node.slice(-12) : l.node;
    const anchor = i === 0 ? 'start' : i > n - 1 - every / 2 ? 'end' : 'middle';
    g.append(svg('text', {x: X(i), y: H - bottom + 18, 'text-anchor': n === 1 ? 'middle' : anchor}, name));
  });
  if (c.first_growth !== null) {
    const x = X(c.first_growth), end = x > W * 0.7;
    g.append(svg('line', {class: 'mark', x1: x, x2: x, y1: top - 4, y2: H - bottom}));
    g.append(svg('text', {class: 'mark', x: end ? x - 6 : x + 6, y: top + 6, 'text-anchor': end ? 'end' : 'start'},
      layers[c.first_growth].node));
  }
  for (const x of series) {
    let path = '';
    layers.forEach((l, i) => {
      if (!x.shown(l)) return;
      const v = x.of(l), y = Y(v === null ? EXACT : v);
      path += (path ? 'L' : 'M') + X(i).toFixed(1) + ' ' + y.toFixed(1);
      if (n <= 150) g.append(svg('circle', {cx: X(i), cy: y, r: 3.2, fill: x.colour},
        svg('title', {}, `${l.node}, ${x.name}: ${db(v)}`)));
    });
    g.append(svg('path', {class: 'curve', d: path, stroke: x.colour}));
  }
  s.append(make('div', {class: 'scroll'}, g));
}

// Returns the range of the layer's values and the range that its integers can represent.
function range(l) {
  if (!isNumber(l.min)) return '–';
  const r = l.result, W = 150, H = 18;
  const low = Math.min(l.min, r ? r.low : l.min), high = Math.max(l.max, r ? r.high : l.max), span = high - low || 1;
  const X = v => 2 + (v - low) / span * (W - 4);
  const text = `${short(l.min, 3)} to ${short(l.max, 3)}, mean ${short(l.mean, 3)}, deviation ${short(l.deviation, 3)}` +
    (r ? `; integers hold ${short(r.low, 3)} to ${short(r.high, 3)}` : '');
  const g = svg('svg', {class: 'range', viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': text});
  if (low < 0 && high > 0) g.append(svg('line', {class: 'zero', x1: X(0), x2: X(0), y1: 0, y2: H}));
  g.append(svg('line', {class: 'seen', x1: X(l.min), x2: X(l.max), y1: H / 2, y2: H / 2}));
  const from = Math.max(l.min, l.mean - 2 * l.deviation), to = Math.min(l.max, l.mean + 2 * l.deviation);
  g.append(svg('rect', {class: 'most', x: X(from), y: 5, width: Math.max(1, X(to) - X(from)), height: H - 10, rx: 2}));
  if (r) {
    const a = X(r.low), b = X(r.high);
    g.append(svg('path', {class: 'fits', d: `M${a + 4} 1H${a}V${H - 1}H${a + 4}M${b - 4} 1H${b}V${H - 1}H${b - 4}`}));
  }
  g.append(svg('title', {}, text));
  return g;
}

function layers() {
  const s = section('Layers', null, true);
  s.append(make('p', {class: 'note'}, 'In order. Accumulated error as signal over error of the whole tensor and as the ' +
    'mean over its channels. Range: the line is all that was seen, ',
    make('i', {class: 'swatch', style: {background: 'var(--s0)', opacity: '.55'}}),
    'mean ± 2 deviations, the brackets what the integers can hold. Outside: the share that was clipped.'));
  const columns = [{name: 'layer'}, {name: 'accumulated'}, {name: 'by channel', number: true}, {name: 'alone', number: true},
    {name: 'grows', number: true}, {name: 'cosine', number: true}, {name: 'max error', number: true}, {name: 'range'},
    {name: 'outside', number: true}, {name: 'integers'}];
  const rows = c.layers.map(l => [
    make('span', {}, l.node, make('small', {}, l.op + (l.quantized ? '' : l.op === 'input' ? '' : ', float'))),
    bar(l.accumulated.sqnr_db, l.node + ' accumulated'), db(l.accumulated.channel_db),
    l.quantized || l.result ? db(worst(l.own)) : '–',
    isNumber(l.growth_db) && l.growth_db > 0.05 ? l.growth_db.toFixed(1) + ' dB' : '–',
    isNumber(l.accumulated.cosine) ? l.accumulated.cosine.toFixed(5) : '–', short(l.accumulated.max_error, 3),
    range(l), l.result ? percent(l.result.saturated) : '–',
    make('span', {}, l.result ? `${l.result.dtype}, ${short(l.result.scale, 3)}` : '–',
      l.result ? make('small', {}, 'zero point ' + l.result.zero_point) : null,
      l.weight ? make('small', {}, `weight ${l.weight.dtype}, ${l.weight.scales} scale${l.weight.scales === 1 ? '' : 's'}, ` +
        db(l.weight.channel_db)) : null)]);
  const t = table(null, columns, rows, 'layerlist');
  t.querySelectorAll('tbody tr').forEach((row, i) => {
    if (i === c.first_growth) row.classList.add('named');
    if (!c.layers[i].quantized && c.layers[i].op !== 'input') row.classList.add('float');
  });
  s.append(t);
}

function sensitivity() {
  if (c.sensitivity.length === 0) return;
  const effects = c.layers[c.sensitivity[0]].effect !== null;
  const s = section('Sensitivity', effects
    ? 'What is left of the first output, as signal over error, when only this layer is quantized. The most sensitive first.'
    : 'Signal over error of the layer\'s result when only it is quantized. The most sensitive first.');
  const rows = c.sensitivity.map(i => c.layers[i]).map(l => [make('span', {}, l.node, make('small', {}, l.op)),
    bar(effects ? (l.effect === null ? null : worst(l.effect)) : worst(l.own), l.node + ' alone'), l.cause || '–']);
  const columns = [{name: 'layer'}, {name: effects ? 'output' : 'result'}, {name: 'mostly its'}];
  s.append(table(null, columns, rows.slice(0, 15), 'layerlist'));
  if (rows.length > 15) s.append(folded(`${rows.length - 15} more`, table(null, columns, rows.slice(15), 'layerlist')));
}

function stayed() {
  const s = section('What stayed float', data.stayed.length === 0 ? 'Nothing: every op of real numbers became integers.' : null);
  if (data.stayed.length === 0) return;
  const rows = data.stayed.map(u => [u.node, u.op, u.reason]);
  const columns = [{name: 'node'}, {name: 'op'}, {name: 'why'}];
  s.append(table(null, columns, rows.slice(0, 20)));
  if (rows.length > 20) s.append(folded(`${rows.length - 20} more`, table(null, columns, rows.slice(20))));
}

function notes() {
  const all = data.notes.concat(c.notes);
  if (all.length === 0) return;
  const s = section('Notes', null, true);
  s.append(make('ul', {class: 'note'}, all.map(n => make('li', {}, n))));
}

function page() {
  const r = data.recipe;
  document.title = 'wick quantize: ' + data.model;
  document.getElementById('title').textContent = data.model;
  document.getElementById('subtitle').textContent = [r.mode, r.weights + ' weights' +
    (r.block ? ` in blocks of ${r.block}` : r.per_channel === false ? ', one scale each' : ''),
    r.activations ? `${r.activations} activations (${r.observer})` : null,
    data.calibration && data.calibration.batches > 0 ? `calibrated on ${data.calibration.data}` : null,
    r.mode === 'qat' ? `layers beside ${c.against}` : null]
    .filter(x => x).join(' · ');
  figures();
  outputs();
  budget();
  tried();
  verdict();
  depth();
  layers();
  sensitivity();
  stayed();
  notes();
  document.getElementById('foot').textContent = `Made by wick ${data.wick} quantize; layers compared with ${c.against} on ` +
    `${c.batches} batch${c.batches === 1 ? '' : 'es'}. One file: nothing is fetched.`;
}

try {
  page();
  document.documentElement.dataset.status = 'ready';
} catch (error) {
  document.documentElement.dataset.status = 'broken';
  document.getElementById('page').prepend(make('p', {class: 'warn', role: 'alert'}, 'The page could not be drawn: ' + error));
}
