// A picture to draw on, with pointers of any kind and with keys. Ink is a number from 0 to 255 in a plane of its own; the
// page decides its colours.
const STEP = 12;  // pixels that an arrow key moves the pen

export class Pad extends EventTarget {
  #canvas;
  #pen = null;  // where the last stroke ended
  #cursor = null;  // where the keys are, [x, y]; null: no key was used
  #down = false;
  #undo = [];

  constructor(canvas) {
    super();
    this.#canvas = canvas;
    this.paper = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    this.erasing = false;
    canvas.addEventListener('pointerdown', event => this.#begin(event));
    canvas.addEventListener('pointermove', event => this.#move(event));
    for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, () => { this.#pen = null; });
    canvas.addEventListener('keydown', event => this.#key(event));
    canvas.addEventListener('blur', () => { this.#cursor = null; this.#down = false; this.#show(); });
  }

  /** Begins anew with this size, width of the pen, and whether ink is dark on light. */
  reset({width, height, pen, dark}) {
    Object.assign(this, {width, height, pen, dark});
    for (const canvas of [this.#canvas, this.paper.canvas]) Object.assign(canvas, {width, height});
    this.#undo = [];
    this.#cursor = null;
    this.clear({quiet: true});
  }
  clear({quiet = false} = {}) {
    if (!quiet) this.#keep();
    this.paper.fillStyle = '#000';
    this.paper.fillRect(0, 0, this.width, this.height);
    this.#changed();
  }
  undo() {
    const last = this.#undo.pop();
    if (last) this.paper.putImageData(last, 0, 0);
    this.#changed();
  }
  /** Draws 28 x 28 bytes over the whole picture. */
  put(bytes, size) {
    this.#keep();
    const image = new ImageData(size, size);
    bytes.forEach((v, i) => image.data.set([v, v, v, 255], 4 * i));
    const small = document.createElement('canvas');
    small.width = small.height = size;
    small.getContext('2d').putImageData(image, 0, 0);
    this.paper.drawImage(small, 0, 0, this.width, this.height);
    this.#changed();
  }
  /** Writes a line of text over the whole picture. */
  write(text) {
    this.#keep();
    this.paper.fillStyle = '#000';
    this.paper.fillRect(0, 0, this.width, this.height);
    this.paper.fillStyle = '#fff';
    this.paper.textBaseline = 'middle';
    for (let size = this.height * 0.6; size > 8; size -= 4) {
      this.paper.font = `${size}px sans-serif`;
      if (this.paper.measureText(text).width <= this.width * 0.94) break;
    }
    this.paper.fillText(text, this.width * 0.03, this.height / 2);
    this.#changed();
  }
  /** Fills what is enclosed: whatever cannot be reached from the edge. */
  fill() {
    this.#keep();
    const {width, height} = this, image = this.paper.getImageData(0, 0, width, height), outside = new Uint8Array(width * height), todo = [];
    const visit = at => {
      if (outside[at] || image.data[4 * at] > 60) return;
      outside[at] = 1;
      todo.push(at);
    };
    for (let x = 0; x < width; ++x) visit(x), visit((height - 1) * width + x);
    for (let y = 0; y < height; ++y) visit(y * width), visit(y * width + width - 1);
    while (todo.length) {
      const at = todo.pop(), x = at % width;
      if (x > 0) visit(at - 1);
      if (x < width - 1) visit(at + 1);
      if (at >= width) visit(at - width);
      if (at < width * (height - 1)) visit(at + width);
    }
    for (let at = 0; at < outside.length; ++at) if (!outside[at] && image.data[4 * at] < 200) image.data.fill(200, 4 * at, 4 * at + 3);
    this.paper.putImageData(image, 0, 0);
    this.#changed();
  }
  /** Returns the smallest box that holds all ink, or null. */
  ink() {
    const {width, height} = this, {data} = this.paper.getImageData(0, 0, width, height);
    let left = width, right = -1, top = height, bottom = -1;
    for (let y = 0; y < height; ++y)
      for (let x = 0; x < width; ++x)
        if (data[4 * (y * width + x)] > 40) {
          left = Math.min(left, x), right = Math.max(right, x), top = Math.min(top, y), bottom = y;
        }
    return right < 0 ? null : {left, top, width: right - left + 1, height: bottom - top + 1};
  }
  /** Returns a box of the picture, scaled into a picture of w x h at x, y: bytes of ink. */
  sample(box, w, h, at = {x: 0, y: 0, width: w, height: h}) {
    const small = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    Object.assign(small.canvas, {width: w, height: h});
    small.imageSmoothingQuality = 'high';
    small.drawImage(this.paper.canvas, box.left, box.top, box.width, box.height, at.x, at.y, at.width, at.height);
    const {data} = small.getImageData(0, 0, w, h);
    return Uint8Array.from({length: w * h}, (_, i) => data[4 * i]);
  }

  #place(event) {
    const box = this.#canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * this.width / box.width, (event.clientY - box.top) * this.height / box.height];
  }
  #begin(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.#canvas.focus({preventScroll: true});
    this.#canvas.setPointerCapture(event.pointerId);
    this.#keep();
    this.#pen = this.#place(event);
    this.#stroke(this.#pen, this.#pen);
  }
  #move(event) {
    if (!this.#pen) return;
    for (const one of event.getCoalescedEvents?.() ?? [event]) {
      const to = this.#place(one);
      this.#stroke(this.#pen, to);
      this.#pen = to;
    }
  }
  #stroke([x, y], [toX, toY]) {
    const {paper} = this;
    paper.strokeStyle = this.erasing ? '#000' : '#fff';
    paper.lineWidth = this.erasing ? 2 * this.pen : this.pen;
    paper.lineCap = paper.lineJoin = 'round';
    paper.beginPath();
    paper.moveTo(x, y);
    paper.lineTo(toX, toY + 0.01);
    paper.stroke();
    this.#changed();
  }
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    const act = {' ': () => this.#lift(), f: () => this.fill(), e: () => this.toggleErase(), z: () => this.undo(), Delete: () => this.clear(), Backspace: () => this.clear()};
    if (!move && !act[event.key]) return;
    event.preventDefault();
    this.#cursor ??= [this.width / 2, this.height / 2];
    if (!move) return act[event.key]();
    const step = event.shiftKey ? STEP / 4 : STEP, from = this.#cursor;
    this.#cursor = [Math.min(Math.max(from[0] + move[0] * step, 0), this.width), Math.min(Math.max(from[1] + move[1] * step, 0), this.height)];
    if (this.#down) this.#stroke(from, this.#cursor);
    else this.#show();
  }
  #lift() {
    this.#down = !this.#down;
    if (!this.#down) return this.#show();
    this.#keep();
    this.#stroke(this.#cursor, this.#cursor);
  }
  toggleErase() {
    this.erasing = !this.erasing;
    this.dispatchEvent(new Event('mode'));
  }
  #keep() {
    this.#undo.push(this.paper.getImageData(0, 0, this.width, this.height));
    if (this.#undo.length > 20) this.#undo.shift();
  }
  #changed() {
    this.#show();
    this.dispatchEvent(new Event('change'));
  }
  #show() {
    const screen = this.#canvas.getContext('2d');
    screen.globalCompositeOperation = 'source-over';
    screen.drawImage(this.paper.canvas, 0, 0);
    if (this.dark) {
      screen.globalCompositeOperation = 'difference';
      screen.fillStyle = '#fff';
      screen.fillRect(0, 0, this.width, this.height);
      screen.globalCompositeOperation = 'source-over';
    }
    if (!this.#cursor) return;
    screen.strokeStyle = this.#down ? '#e0523f' : '#3f9be0';
    screen.lineWidth = 2;
    screen.beginPath();
    screen.arc(...this.#cursor, this.pen / 2 + 3, 0, 7);
    screen.stroke();
  }
}
