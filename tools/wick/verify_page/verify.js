// The table of wick verify --html: model by target by class. The data are the command's JSON document.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

function groups() {
  const all = new Map();
  for (const r of data.rows) {
    const key = JSON.stringify([r.model, r.target, r.numerics]);
    const g = all.get(key) || {model: r.model, target: r.target, numerics: r.numerics, sizes: [], values: 0, bad: null};
    g.sizes.push(r.sizes);
    g.values += r.values;
    if (r.verdict !== 'equal' && (g.bad === null || r.verdict === 'differs')) g.bad = r;
    all.set(key, g);
  }
  return [...all.values()];
}

function verdict(g) {
  if (g.bad === null) return 'equal';
  return g.bad.verdict + ': ' + (g.bad.first ? g.bad.first.text : g.bad.why);
}

function page() {
  document.title = 'wick verify: ' + data.verdict;
  document.getElementById('title').textContent = 'wick verify: ' + data.verdict;
  document.getElementById('subtitle').textContent = data.models.join(' · ');
  const s = section('Models, targets and classes', null, true);
  s.append(table(null, [{name: 'model'}, {name: 'target'}, {name: 'class'}, {name: 'sizes', number: true},
    {name: 'values', number: true}, {name: 'verdict'}], groups().map(g => [g.model, g.target, g.numerics,
    String(new Set(g.sizes).size), String(g.values), verdict(g)])));
  document.getElementById('foot').textContent = `Made by wick ${data.wick} verify. One file: nothing is fetched.`;
}

try {
  page();
  document.documentElement.dataset.status = 'ready';
} catch (error) {
  document.documentElement.dataset.status = 'broken';
  document.getElementById('page').prepend(make('p', {class: 'warn', role: 'alert'}, 'The page could not be drawn: ' + error));
}
