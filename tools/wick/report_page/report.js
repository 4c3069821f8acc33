// The report of a training run. tools/wick/report_data.cc makes the data and has checked every type: lists are lists,
// numbers are finite or null.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

function figures() {
  const last = data.epochs[data.epochs.length - 1];
  const s = section('Result', null, true);
  const list = [];
  const add = (value, name) => list.push(make('div', {}, make('b', {}, value), make('span', {}, name)));
  const best = data.epochs.filter(e => isNumber(e.val_accuracy))
    .reduce((a, e) => a === null || e.val_accuracy > a.val_accuracy ? e : a, null);
  if (best) add(percent(best.val_accuracy), `best validation accuracy, epoch ${best.epoch}`);
  if (last) {
    if (isNumber(last.val_loss)) add(short(last.val_loss), 'validation loss, last epoch');
    add(percent(last.train_accuracy), 'training accuracy, last epoch');
    add(short(last.train_loss), 'training loss, last epoch');
    add(String(last.epoch), 'epochs');
    add(String(last.step), 'steps');
    if (isNumber(last.images_per_second)) add(last.images_per_second.toFixed(0), 'items a second in training');
  }
  if (data.memory) add(bytes(data.memory.total), 'peak memory of a step');
  if (list.length === 0) s.append(make('p', {class: 'note'}, 'No epoch has ended yet.'));
  s.append(make('div', {class: 'figures'}, list));
  if (data.notes.length > 0) {
    s.append(make('h3', {}, 'What the folder lacks'));
    s.append(make('ul', {class: 'note'}, data.notes.map(n => make('li', {}, n))));
  }
}

function curve(title, fields, format) {
  const series = fields.map((f, i) => ({name: f.name, colour: `var(--s${i})`, dashed: i === 1,
    points: data.epochs.map(e => [e.epoch, e[f.key]])})).filter(s => s.points.some(p => isNumber(p[1])));
  if (series.length === 0) return;
  const s = section(title);
  s.append(legend(series.map(x => {
    const known = x.points.filter(p => isNumber(p[1]));
    return {name: x.name, colour: x.colour, value: format(known[known.length - 1][1])};
  })));
  s.append(lineChart(`${title} by epoch: ` + series.map(x => x.name).join(', '), series, format));
}

function curves() {
  if (data.epochs.length === 0) return;
  curve('Loss', [{key: 'train_loss', name: 'training'}, {key: 'val_loss', name: 'validation'}], short);
  curve('Accuracy', [{key: 'train_accuracy', name: 'training'}, {key: 'val_accuracy', name: 'validation'}],
    v => percent(v, 1));
  curve('Learning rate', [{key: 'lr', name: 'at the end of the epoch'}], short);
  const s = section('Epochs');
  const rows = data.epochs.map(e => [String(e.epoch), short(e.train_loss), percent(e.train_accuracy),
    short(e.val_loss), percent(e.val_accuracy), short(e.lr), seconds(e.seconds)]);
  const all = table(null, [{name: 'epoch'}, {name: 'train loss', number: true}, {name: 'train acc', number: true},
    {name: 'val loss', number: true}, {name: 'val acc', number: true}, {name: 'lr', number: true},
    {name: 'time', number: true}], rows);
  s.append(rows.length > 12 ? folded(`${rows.length} epochs as a table`, all) : all);
}

const className = (v, k) => v.names[k] !== undefined ? v.names[k] : String(k);

function confusion() {
  const v = data.validation;
  if (!v || v.confusion.length === 0) return;
  const n = v.classes, sum = v.confusion.map(r => r.reduce((a, b) => a + b, 0));
  const s = section('Confusion matrix', `Epoch ${v.epoch}, ${v.items} items. A row is what it is, a column what the ` +
    'model said: the diagonal is right. Recall is the share of a row that is right.', true);
  const cell = (r, c) => {
    const count = v.confusion[r][c], share = sum[r] > 0 ? count / sum[r] : 0;
    const alpha = count === 0 ? 0 : r === c ? 0.08 + 0.5 * share : 0.12 + 0.55 * Math.min(1, share * 4);
    return make('td', {title: `${className(v, r)} taken for ${className(v, c)}: ${count} of ${sum[r]}`,
      style: {background: `rgba(var(--${r === c ? 'heat' : 'miss'}), ${alpha.toFixed(3)})`}},
      count === 0 ? make('span', {style: {color: 'var(--soft)'}}, '·') : String(count));
  };
  const index = [...Array(n).keys()];
  s.append(make('div', {class: 'scroll'}, make('table', {class: 'matrix'},
    make('thead', {}, make('tr', {}, make('th', {scope: 'col'}, 'is \\ said'),
      index.map(c => make('th', {scope: 'col'}, className(v, c))), make('th', {scope: 'col'}, 'recall'))),
    make('tbody', {}, index.map(r => make('tr', {}, make('th', {scope: 'row'}, className(v, r)),
      index.map(c => cell(r, c)), make('td', {}, sum[r] > 0 ? percent(v.confusion[r][r] / sum[r], 1) : '–')))))));
}

function picture(m, label) {
  const c = make('canvas', {width: m.width, height: m.height, role: 'img', 'aria-label': label});
  const context = c.getContext('2d'), image = context.createImageData(m.width, m.height);
  for (let i = 0; i < m.width * m.height; ++i) {
    for (let k = 0; k < 3; ++k) image.data[4 * i + k] = m.pixels[i * m.channels + (m.channels === 3 ? k : 0)];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return c;
}

function mistakes() {
  const v = data.validation;
  if (!v || v.worst.length === 0) return;
  const s = section('Worst mistakes', 'The items on which the model was wrong with the largest loss.', true);
  s.append(make('ul', {class: 'mistakes'}, v.worst.map(m => {
    const is = className(v, m.target), said = className(v, m.predicted);
    const label = `item ${m.index}: is ${is}, taken for ${said}`;
    return make('li', {}, m.pixels.length > 0 ? picture(m, label) : make('p', {class: 'no'}, 'no picture'),
      make('div', {}, 'is ', make('b', {}, is)),
      make('div', {}, 'said ', make('b', {}, said), ` (${percent(m.probability, 0)})`),
      make('div', {class: 'no'}, `item ${m.index}, loss ${short(m.loss, 3)}`));
  })));
}

function histograms(kind, title, note) {
  const names = [];
  const byName = new Map();
  for (const e of data.histograms) {
    for (const h of e[kind]) {
      if (!byName.has(h.name)) { byName.set(h.name, []); names.push(h.name); }
      byName.get(h.name).push({epoch: e.epoch, h});
    }
  }
  if (names.length === 0) return;
  const s = section(title, note, true);
  const grid = list => make('div', {class: 'layers'}, list.map(name => {
    const epochs = byName.get(name).slice(-40), last = epochs[epochs.length - 1].h;
    const bad = last.bad > 0 ? make('span', {class: 'warn'}, `, ${last.bad} not finite`) : null;
    return make('figure', {}, make('figcaption', {}, name,
      last.op ? make('span', {class: 'no'}, ' ' + last.op) : null),
      ridge(`${name}, by epoch: last mean ${short(last.mean)}, std ${short(last.std)}`, epochs),
      make('p', {}, `mean ${short(last.mean, 3)}, std ${short(last.std, 3)}, zero ${percent(last.zeros, 1)}`, bad));
  }));
  s.append(grid(names.slice(0, 12)));
  if (names.length > 12) s.append(folded(`${names.length - 12} more`, grid(names.slice(12))));
}

function memory() {
  if (!data.memory) return;
  const m = data.memory;
  const s = section('Memory of a step', `The moment of a training step at which tensors take most: ${bytes(m.total)}.`);
  s.append(stacked('Memory of a step', ['parameters', 'buffers', 'gradients', 'optimizer', 'inputs', 'activations',
    'temporaries'].map(name => ({name, value: m[name]})), bytes));
  if (m.steps.length < 2) return;
  const c = section('Memory by step', 'Bytes of all tensors. A line between steps that rises is a leak: wick doctor names it.');
  const series = [{name: 'after the forward', key: 'forward'}, {name: 'between steps', key: 'after'}].map((f, i) =>
    ({name: f.name, colour: `var(--s${i})`, points: m.steps.map(s => [s.step, s[f.key]])}));
  c.append(legend(series));
  c.append(lineChart('Memory by step: after the forward, between steps', series, bytes, 'step'));
  c.append(folded('as a table', table(null, [{name: 'step'}, {name: 'after the forward', number: true},
    {name: 'between steps', number: true}], m.steps.map(s => [String(s.step), bytes(s.forward), bytes(s.after)]))));
}

function workers() {
  if (!data.workers) return;
  const s = section('Throughput by loader workers', 'Items a second, measured when this page was made: reading batches alone, ' +
    'and training steps with them. 0 workers: batches are made when they are asked for.');
  const series = [{name: 'reading alone', key: 'reading'}, {name: 'training', key: 'training'}].map((f, i) =>
    ({name: f.name, colour: `var(--s${i})`, points: data.workers.map(w => [w.workers, w[f.key]])}));
  s.append(legend(series));
  s.append(lineChart('Throughput by loader workers: reading alone, training', series, short, 'workers'));
  s.append(table(null, [{name: 'workers'}, {name: 'reading alone', number: true}, {name: 'training', number: true}],
    data.workers.map(w => [String(w.workers), short(w.reading), short(w.training)])));
}

const kParts = ['loader', 'zero_grad', 'forward', 'loss', 'backward', 'optimizer', 'validation', 'other'];

function time() {
  const sums = kParts.map(name => ({name, value: data.epochs.reduce((a, e) =>
    a + (e.time && isNumber(e.time[name]) ? e.time[name] : 0), 0)}));
  if (sums.every(p => p.value <= 0)) return;
  const verdict = data.epochs[data.epochs.length - 1].verdict;
  const s = section('Time of the run', 'All epochs; loader is what the training waited for it.' +
    (verdict ? ` The last epoch's verdict: ${verdict}.` : ''));
  s.append(stacked('Time of the run', sums, seconds));
}

function profile() {
  const p = data.profile;
  if (!p) return;
  const s = section('Where the time goes', `${p.steps} steps recorded with ${p.threads} thread${p.threads === 1 ? '' : 's'}, ` +
    `${seconds(p.seconds / Math.max(1, p.steps))} each. The machine: ${short(p.peak_flops_per_second / 1e9, 3)} GFLOP/s, ` +
    `${short(p.peak_bytes_per_second / 1e9, 3)} GB/s; an op below ` +
    `${short(p.peak_flops_per_second / p.peak_bytes_per_second, 3)} FLOPs a byte is bound by memory.`, true);
  const rows = list => list.map(r => [r.name, String(r.calls), seconds(r.seconds / Math.max(1, p.steps)),
    make('span', {class: 'track', role: 'img', 'aria-label': percent(r.seconds / p.seconds, 1)},
      make('i', {style: {width: Math.min(100, 100 * r.seconds / p.seconds) + '%'}})),
    percent(r.seconds / p.seconds, 1), percent(r.seconds > 0 ? r.backward_seconds / r.seconds : 0, 0),
    r.bytes > 0 && r.seconds > 0 ? short(r.flops / r.seconds / 1e9, 3) : '–',
    r.bytes > 0 && r.seconds > 0 ? short(r.bytes / r.seconds / 1e9, 3) : '–', r.bound]);
  const columns = what => [{name: what}, {name: 'calls', number: true}, {name: 'a step', number: true},
    {name: '', kind: 'bar'}, {name: 'share', number: true}, {name: 'backward', number: true},
    {name: 'GFLOP/s', number: true}, {name: 'GB/s', number: true}, {name: 'bound by'}];
  s.append(table('By op', columns('op'), rows(p.ops), 'bars'));
  if (p.modules.length > 0) s.append(folded('By module', table(null, columns('module'), rows(p.modules), 'bars')));
  if (p.lines.length > 0) s.append(folded('By line', table(null, columns('line'), rows(p.lines), 'bars')));
}

function page() {
  document.title = 'wick report: ' + data.title;
  document.getElementById('title').textContent = data.title;
  document.getElementById('subtitle').textContent = data.subtitle;
  figures();
  curves();
  confusion();
  mistakes();
  histograms('activations', 'Activations by layer', 'Of the first validation batch; one row an epoch, the last ' +
    'one at the bottom; darker is more values.');
  histograms('gradients', 'Gradients by parameter', 'Of the last batch of each epoch.');
  time();
  memory();
  workers();
  profile();
  document.getElementById('foot').textContent = `Made by wick ${data.wick} from ${data.folder}. ` +
    'One file: nothing is fetched.';
}

try {
  page();
  document.documentElement.dataset.status = 'ready';
} catch (error) {
  document.documentElement.dataset.status = 'broken';
  document.getElementById('page').prepend(make('p', {class: 'warn', role: 'alert'}, 'The page could not be drawn: ' + error));
}
