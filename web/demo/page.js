// The page: which network is asked, what it is shown, and what it answers.
import {WickError, load, open} from '../src/index.js';
import {readNpy} from './npy.js';
import {Pad} from './pad.js';

const part = id => document.getElementById(id);

/** Shows how much of what is loading has come; where a size is unknown, that something is coming. */
function progress({loaded, total}) {
  const bar = part('loading');
  bar.hidden = false;
  if (total) bar.value = loaded / total;
  else bar.removeAttribute('value');
}

// The engine with LeNet's kernels alone: what the first answer waits for is asked for first.
const starting = open({wasm: 'lenet.wasm', wasmFused: 'lenet-fma.wasm', onProgress: progress});
starting.catch(() => {});
const pad = new Pad(part('pad'));
const fetched = async file => new Uint8Array(await (await fetch(file)).arrayBuffer());

let modes = [];  // of models.json, and the reader's
let mode = null;

const once = make => {
  let made;
  return () => made ??= make().catch(error => {
    made = undefined;
    throw error;
  });
};

function trouble(error) {
  console.error(error);
  const refused = error instanceof WickError && error.code === 'refused';
  // The reader is not kept until it was used; then its worker, its model or its letters fail first.
  const offline = !navigator.onLine && mode?.wide;
  part('trouble').textContent = offline ? 'You are offline, and the reader was not loaded before.'
    : refused ? `No network can answer here. ${error.message}` : error.message;
  part('trouble').hidden = false;
  part('loading').hidden = true;
}

// ---- LeNet: a picture of 28 x 28 -------------------------------------------------------------------------------------

/** As the training images are: a digit 20 pixels high whose centre of mass is in the middle; a garment as large as fits. */
function picture({digit}) {
  const box = pad.ink();
  if (!box) return new Uint8Array(784);
  const most = digit ? 20 : 26, scale = most / Math.max(box.width, box.height);
  const at = {width: Math.max(1, box.width * scale), height: Math.max(1, box.height * scale)};
  const placed = (x, y) => pad.sample(box, 28, 28, {...at, x, y});
  let x = (28 - at.width) / 2, y = (28 - at.height) / 2;
  const first = placed(x, y);
  if (!digit) return first;
  let sum = 0, sumX = 0, sumY = 0;
  first.forEach((v, i) => { sum += v, sumX += v * (i % 28 + 0.5), sumY += v * (Math.floor(i / 28) + 0.5); });
  return sum === 0 ? first : placed(x + Math.round(14 - sumX / sum), y + Math.round(14 - sumY / sum));
}

function softmax(logits) {
  const top = Math.max(...logits), e = Array.from(logits, v => Math.exp(v - top)), sum = e.reduce((a, b) => a + b);
  return e.map(v => v / sum);
}

function scores(labels, shares) {
  const list = part('scores');
  if (list.children.length !== labels.length)
    list.replaceChildren(...labels.map(label => {
      const row = document.createElement('li');
      row.innerHTML = '<span></span><span class="bar"><i></i></span><b></b>';
      row.firstChild.textContent = label;
      return row;
    }));
  const best = shares.indexOf(Math.max(...shares));
  shares.forEach((share, i) => {
    const row = list.children[i];
    row.firstChild.textContent = labels[i];
    row.classList.toggle('first', i === best);
    row.querySelector('i').style.transform = `scaleX(${share})`;
    row.querySelector('b').textContent = `${(100 * share).toFixed(1)} %`;
  });
  return best;
}

function show28(bytes) {
  const image = new ImageData(28, 28);
  bytes.forEach((v, i) => image.data.set([v, v, v, 255], 4 * i));
  part('seen').getContext('2d').putImageData(image, 0, 0);
}

function lenet(facts) {
  const model = once(async () => (await starting).load(facts.file, {onProgress: progress}));
  let shown = null;  // the example that the picture shows as it is
  let examples = null, next = 0;
  return {
    ...facts, size: {width: 280, height: 280, pen: facts.digit ? 20 : 14, dark: false}, model,
    async answer() {
      const image = shown ?? picture(facts);
      shown = null;
      show28(image);
      const net = await model(), begin = performance.now();
      const {logits} = net.runSync(image);
      const ms = performance.now() - begin;
      if (mode !== this) return;
      const best = scores(net.labels, softmax(logits.data));
      const empty = !image.some(v => v);
      part('answer').textContent = empty ? `Draw a ${facts.title.toLowerCase()}` : `${facts.says} ${net.labels[best]}`;
      part('time').textContent = `what the network sees; it answered in ${ms.toFixed(1)} ms`;
    },
    example(bytes) {
      shown = bytes;
      pad.put(bytes, 28);
    },
    async examples() {
      examples ??= readNpy(await fetched(facts.images)).data;
      next = (next + 1) % (examples.length / 784);
      this.example(examples.slice(784 * next, 784 * (next + 1)));
    },
    /** Compares with the answers that the trainer gave to the same images. */
    async check() {
      const net = await model();
      const images = readNpy(await fetched(facts.images)), wanted = readNpy(await fetched(facts.answers));
      const {logits} = await net.run({data: images.data, dims: images.dims});
      let differ = 0, most = 0, largest = 0;
      const bits = new Int32Array(logits.data.buffer), ours = new Int32Array(wanted.data.buffer);
      for (let i = 0; i < ours.length; ++i) {
        if (bits[i] !== ours[i]) ++differ;
        most = Math.max(most, Math.abs(logits.data[i] - wanted.data[i]));
        largest = Math.max(largest, Math.abs(wanted.data[i]));
      }
      const what = `${images.dims[0]} test images, ${ours.length} numbers`;
      if (differ === 0) return {state: 'equal', text: `${what}: every bit is the trainer's.`};
      const apart = `at most ${(most / largest).toExponential(1)} of the largest answer apart from the trainer's`;
      return most <= 1e-5 * largest && !net.numerics.fused ? {state: 'close', text: `${what}: ${apart}.`} : {state: 'differs', text: `${what}: ${apart}. That should not be.`};
    },
  };
}

// ---- The modes -------------------------------------------------------------------------------------------------------

let waiting = false;
async function answer() {
  if (waiting || !mode) return;
  waiting = true;
  const asked = mode;
  try {
    await new Promise(next => document.visibilityState === 'visible' && asked.answered ? requestAnimationFrame(next) : next());
    waiting = false;
    await asked.answer();
    asked.answered = true;
    part('loading').hidden = true;
    if (!performance.getEntriesByName('first answer').length) performance.mark('first answer');
  } catch (error) {
    waiting = false;
    trouble(error);
  }
}

function choose(next, {focus = false} = {}) {
  mode = next;
  for (const tab of part('modes').children) {
    const on = tab.mode === next;
    tab.setAttribute('aria-selected', on);
    tab.tabIndex = on ? 0 : -1;
    if (on && focus) tab.focus();
  }
  const wide = next.wide === true;
  part('work').classList.toggle('wide', wide);
  part('typing').hidden = !wide;
  part('seen').hidden = part('scores').hidden = part('example').hidden = wide;
  part('fill').hidden = wide || next.digit;
  part('pad').setAttribute('aria-label', wide ? 'A line to write on' : `A picture to draw a ${next.title.toLowerCase()} on`);
  part('trouble').hidden = true;
  part('answer').textContent = part('time').textContent = '';
  pad.reset(next.size);
  const first = next.first && Uint8Array.from(atob(next.first), c => c.charCodeAt(0));
  if (first) next.example(first);
  compare(next);
}

/** After the answer that the visitor waits for. */
async function compare(asked) {
  const badge = part('badge');
  badge.hidden = !asked.check;
  if (!asked.check) return;
  if (!asked.result) {
    Object.assign(badge.dataset, {state: 'wait'});
    badge.textContent = 'The answers are not compared yet.';
    try {
      await asked.model();
      await new Promise(later => (globalThis.requestIdleCallback ?? setTimeout)(later));
      asked.result = await asked.check();
    } catch (error) {
      badge.textContent = 'The answers could not be compared.';
      return console.error(error);
    }
  }
  if (mode !== asked) return;
  badge.dataset.state = asked.result.state;
  badge.textContent = asked.result.text;
}

function tabs() {
  part('modes').replaceChildren(...modes.map(one => {
    const tab = document.createElement('button');
    Object.assign(tab, {type: 'button', textContent: one.title, mode: one});
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-controls', 'work');
    tab.addEventListener('click', () => choose(one));
    return tab;
  }));
  part('modes').addEventListener('keydown', event => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (by) choose(modes[(modes.indexOf(mode) + by + modes.length) % modes.length], {focus: true});
  });
}

pad.addEventListener('change', answer);
pad.addEventListener('mode', () => part('erase').setAttribute('aria-pressed', pad.erasing));
part('clear').addEventListener('click', () => pad.clear());
part('undo').addEventListener('click', () => pad.undo());
part('fill').addEventListener('click', () => pad.fill());
part('erase').addEventListener('click', () => pad.toggleErase());
part('example').addEventListener('click', () => mode.examples().catch(trouble));
part('typed').addEventListener('input', event => pad.write(event.target.value));

try {
  starting.then(({version, numerics}) => {
    part('numerics').textContent = `Wick ${version}; ${numerics.text} (${numerics.promise}).`;
  }, trouble);
  const {lenets, reader} = await (await fetch('models.json')).json();
  modes = lenets.map(lenet);
  if (reader) {
    const make = once(async () => (await import(new URL('read.js', document.baseURI))).reader(reader, pad, {load, progress, part}));
    const first = {title: 'Read', wide: true, size: {width: 960, height: 144, pen: 7, dark: true}, model: make};
    first.answer = async () => {
      const read = await make();
      if (mode === first) await read.answer();
    };
    modes.push(first);
  }
  tabs();
  choose(modes[0]);
} catch (error) {
  trouble(error);
}
// Without a network the page needs the module that it chose, too.
if ('serviceWorker' in navigator && isSecureContext)
  navigator.serviceWorker.register('sw.js').then(() => navigator.serviceWorker.ready)
    .then(async ({active}) => active.postMessage({keep: (await starting).numerics.fused ? 'lenet-fma.wasm' : 'lenet.wasm'})).catch(console.warn);
