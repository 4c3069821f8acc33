// Compiles where index.d.ts says what a caller expects, and only there.
import {CODES, WickError, fromFloat32, load, open, probe, toFloat32} from 'wick-web';
import type {AnyModel, Engine, Model, Outputs, Port, State, Tensor} from 'wick-web';

async function here(): Promise<number> {
  const model: Model = await load('lenet.wick', {onProgress: ({what, loaded, total}) => console.log(what, loaded, total ?? 0), dims: {batch: 1}});
  const {logits}: Outputs = model.runSync({image: new Uint8Array(784)}, {timeout: 5, outputs: ['logits']});
  const ports: readonly Port[] = model.inputs;
  const scores: Float32Array = toFloat32(logits as Tensor);
  await model.run(new Float32Array(3));
  await model.run({data: new BigInt64Array(2), dims: [2]});
  await model.run({x: ['a', 'b'], y: null, z: [{data: [1, 2], dims: [2]}]});
  await model.run(fromFloat32([1, 2], 'float16'));
  await model.run();
  const stream: State = await model.state({dims: {batch: 1}});
  const decode: Model = await model.entry('decode');
  decode.runSync([1], {state: stream});
  await stream.reset();
  // @ts-expect-error: it makes no other type
  fromFloat32([1, 2], 'int8');
  // @ts-expect-error: there is no such option
  await model.run(new Float32Array(2), {timeOut: 5});
  // @ts-expect-error: results are not written
  model.labels[0] = 'x';
  model.dispose();
  return scores.length + ports.length;
}

async function there(): Promise<void> {
  const engine = await open({worker: true, wasm: new URL('lenet.wasm', 'https://example.com'), wasmFused: new ArrayBuffer(8)});
  const model: AnyModel = await engine.load(new Blob([]));
  // @ts-expect-error: a worker answers later
  model.runSync({});
  await model.run(new Uint8Array(1), {transfer: true});
  const worker: boolean = Math.random() < 0.5;
  const either: AnyModel = await load('lenet.wick', {worker});
  const opened: Engine<AnyModel> = await open({worker});
  // @ts-expect-error: it may be in a worker
  either.runSync({});
  opened.close();
  engine.close();
}

function refused(error: unknown): string {
  if (error instanceof WickError && error.code === 'refused') return error.message;
  const known: readonly string[] = CODES;
  return known[probe().fused ? 0 : 1];
}
void here, void there, void refused;
