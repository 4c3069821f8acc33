// Reads a written line: PP-OCRv4's recogniser, in a worker, and the best path through its CTC output.
const HEIGHT = 48;

export async function reader({file, keys}, pad, {load, progress, part}) {
  const [net, text] = await Promise.all([load(file, {worker: true, onProgress: progress}), fetch(keys).then(r => r.text())]);
  const letters = ['', ...text.replace(/\n$/, '').split('\n').map(line => line.replace(/\r$/, '')), ' '];
  const input = net.inputs[0].name, output = net.outputs[0].name;
  let busy = false, again = false;

  /** The line from its first to its last stroke, 48 pixels high, dark on light, from -1 to 1. */
  function image() {
    const box = pad.ink();
    if (!box) return null;
    const margin = Math.round(box.height * 0.25) + 4;
    const cut = {left: box.left - margin, top: box.top - margin, width: box.width + 2 * margin, height: box.height + 2 * margin};
    const width = Math.min(960, Math.max(HEIGHT, 16 * Math.ceil(cut.width * HEIGHT / cut.height / 16)));
    const ink = pad.sample(cut, width, HEIGHT);
    const data = new Float32Array(3 * HEIGHT * width);
    for (let channel = 0; channel < 3; ++channel) ink.forEach((v, i) => { data[channel * ink.length + i] = 1 - v / 127.5; });
    return {data, dims: [1, 3, HEIGHT, width]};
  }

  function best({data, dims: [, steps, classes]}) {
    let line = '', last = 0;
    for (let t = 0; t < steps; ++t) {
      let top = 0;
      for (let c = 1; c < classes; ++c) if (data[t * classes + c] > data[t * classes + top]) top = c;
      if (top !== 0 && top !== last) line += letters[top] ?? '?';
      last = top;
    }
    return line.trim();
  }

  return {
    /** One line at a time: what was written meanwhile is read next. */
    async answer() {
      if (busy) return void (again = true);
      busy = true;
      try {
        do {
          again = false;
          const line = image();
          if (!line) {
            part('answer').textContent = 'Write or type a line';
            part('time').textContent = '';
            continue;
          }
          const begin = performance.now();
          const result = await net.run({[input]: line}, {transfer: true});
          part('answer').textContent = best(result[output]) || 'Nothing that it can read';
          part('time').textContent = `${line.dims[3]} x ${HEIGHT} pixels, read in ${(performance.now() - begin).toFixed(0)} ms`;
        } while (again);
      } finally {
        busy = false;
      }
    },
  };
}
