// The plot of wick roofline: both axes logarithmic, a circle for each op. The data are the command's JSON document.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const kneeAt = data.peak_flops_per_second / data.peak_bytes_per_second;
const roofAt = x => Math.min(data.peak_flops_per_second, x * data.peak_bytes_per_second) / 1e9;
const powers = (low, high) => {
  const list = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); ++k) list.push(k);
  return list;
};

function plot(points) {
  const W = 900, H = 460, left = 62, right = 18, top = 16, bottom = 44;
  const kx = powers(Math.min(...points.map(p => p.intensity), kneeAt / 2),
    Math.max(...points.map(p => p.intensity), kneeAt * 4));
  const ky = powers(Math.min(...points.map(p => p.gflops)), roofAt(Infinity));
  const X = v => left + (Math.log10(v) - kx[0]) / (kx[kx.length - 1] - kx[0]) * (W - left - right);
  const Y = v => H - bottom - (Math.log10(v) - ky[0]) / (ky[ky.length - 1] - ky[0]) * (H - top - bottom);
  const g = svg('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label':
    `Roofline: ${points.length} ops by FLOPs a byte and GFLOP/s under the limits of the machine; the table below has the values`});
  for (const k of ky) {
    g.append(svg('line', {class: 'grid', x1: left, x2: W - right, y1: Y(10 ** k), y2: Y(10 ** k)}));
    g.append(svg('text', {x: left - 7, y: Y(10 ** k) + 4, 'text-anchor': 'end'}, short(10 ** k)));
  }
  for (const k of kx) {
    g.append(svg('line', {class: 'grid', x1: X(10 ** k), x2: X(10 ** k), y1: top, y2: H - bottom}));
    g.append(svg('text', {x: X(10 ** k), y: H - bottom + 16, 'text-anchor': 'middle'}, short(10 ** k)));
  }
  const ends = [10 ** kx[0], kneeAt, 10 ** kx[kx.length - 1]];
  const seen = ends.filter(x => roofAt(x) >= 10 ** ky[0]);
  if (seen.length < 3) seen.unshift(10 ** ky[0] * 1e9 / data.peak_bytes_per_second);
  g.append(svg('path', {class: 'curve', stroke: 'var(--ink)',
    d: seen.map((x, i) => (i ? 'L' : 'M') + X(x).toFixed(1) + ' ' + Y(roofAt(x)).toFixed(1)).join('')}));
  g.append(svg('text', {x: (left + W - right) / 2, y: H - 6, 'text-anchor': 'middle'}, 'FLOPs a byte'));
  g.append(svg('text', {x: left, y: top - 4}, 'GFLOP/s'));
  const most = Math.max(...points.map(p => p.seconds));
  for (const p of points) {
    g.append(svg('circle', {cx: X(p.intensity), cy: Y(p.gflops), r: 4 + 14 * Math.sqrt(p.seconds / most),
      fill: `var(--s${p.backward ? 1 : 0})`, 'fill-opacity': 0.55},
      svg('title', {}, `${p.op}${p.backward ? ' in backward' : ''} ${p.module}: ${short(p.gflops, 3)} GFLOP/s at ` +
        `${short(p.intensity, 3)} FLOPs a byte, ${percent(p.of_roof, 0)} of the roof, ${p.verdict}`)));
  }
  return g;
}

function page() {
  document.title = 'wick roofline: ' + data.model;
  document.getElementById('title').textContent = 'Roofline of a step of ' + data.model;
  document.getElementById('subtitle').textContent = `${data.batch} images of ${data.data}, ${data.steps} steps, ` +
    `${data.threads} thread${data.threads === 1 ? '' : 's'}, ${data.target}`;
  const s = section('Ops under the roof', `The line is what this machine can do at most: ${short(data.peak_flops_per_second / 1e9, 3)} ` +
    `GFLOP/s, ${short(data.peak_bytes_per_second / 1e9, 3)} GB/s. Left of ${short(kneeAt, 3)} FLOPs a byte memory is the limit, ` +
    'right of it arithmetic. A larger circle took more time; one above the line found its bytes in a cache.', true);
  const drawn = data.points.filter(p => p.intensity > 0 && p.gflops > 0);
  s.append(legend([{name: 'forward', colour: 'var(--s0)'}, {name: 'backward', colour: 'var(--s1)'}]));
  s.append(drawn.length > 0 ? plot(drawn) : make('p', {class: 'note'}, 'no op computes anything'));
  const all = data.points.reduce((a, p) => a + p.seconds, 0);
  const t = section('All ops', 'An op without a FLOP (a copy, a transposition) is in the table alone.', true);
  t.append(table(null, [{name: 'op'}, {name: 'module'}, {name: 'calls', number: true}, {name: 'a step', number: true},
    {name: 'share', number: true}, {name: 'FLOP/B', number: true}, {name: 'GFLOP/s', number: true},
    {name: 'GB/s', number: true}, {name: 'of the roof', number: true}, {name: 'verdict'}],
    data.points.map(p => [p.op + (p.backward ? ' (backward)' : ''), p.module, String(p.calls),
      seconds(p.seconds / data.steps), percent(p.seconds / all, 1), short(p.intensity, 3), short(p.gflops, 3),
      short(p.gbytes, 3), percent(p.of_roof, 0), p.verdict])));
  document.getElementById('foot').textContent = `Made by wick ${data.wick} roofline. One file: nothing is fetched.`;
}

try {
  page();
  document.documentElement.dataset.status = 'ready';
} catch (error) {
  document.documentElement.dataset.status = 'broken';
  document.getElementById('page').prepend(make('p', {class: 'warn', role: 'alert'}, 'The page could not be drawn: ' + error));
}
