// Bytes and modules from where a caller has them: an address, a file of Node, a Response, a Blob, or memory.
import {WickError} from './errors.js';
import {nodeModule} from './node.js';
import {isDetached, kind} from './tensor.js';

const isNode = typeof process === 'object' && typeof process.versions?.node === 'string';

/** A path of Node, or null where the source is fetched. */
function nodePath(source) {
  if (!isNode) return null;
  const text = String(source);
  if (text.startsWith('file:')) return new URL(text);
  return /^[a-z][a-z0-9+.-]+:/i.test(text) ? null : text;
}

async function readFile(path, {signal, progress}) {
  const {readFile: read} = await nodeModule('fs/promises');
  let bytes;
  try {
    bytes = new Uint8Array(await read(path, {signal}));
  } catch (error) {
    if (error.name === 'AbortError' || signal?.aborted) throw error;
    throw new WickError(error.code === 'ENOENT' ? 'not found' : 'io', `Cannot read ${path}: ${error.message}`, {cause: error});
  }
  progress?.({loaded: bytes.length, total: bytes.length});
  return bytes;
}

async function request(source, signal) {
  let response = source;
  signal?.throwIfAborted();
  try {
    if (!(source instanceof Response)) response = await fetch(source, {signal});
  } catch (error) {
    if (error.name === 'AbortError' || signal?.aborted) throw error;
    // Node has the reason, such as ECONNREFUSED, in the cause; browsers keep it from scripts.
    const reason = error.cause?.code ?? error.cause?.message;
    throw new WickError('io', `Cannot fetch ${nameOf(source)}: ${error.message}${reason ? ` (${reason})` : ''}`, {cause: error});
  }
  if (!response.ok) throw new WickError(response.status === 404 ? 'not found' : 'io', `Cannot fetch ${response.url}: ${response.status} ${response.statusText}`);
  return response;
}

/** Returns a response whose body reports how much of it has come; the total is null where only the sender knows it. */
function counted(response, progress) {
  if (!progress || !response.body || response.bodyUsed || response.body.locked) return response;
  const length = response.headers.get('content-encoding') ? NaN : Number(response.headers.get('content-length') ?? NaN);
  const total = Number.isFinite(length) ? length : null;
  let loaded = 0;
  const body = response.body.pipeThrough(new TransformStream({
    transform(chunk, controller) {
      loaded += chunk.length;
      progress({loaded, total});
      controller.enqueue(chunk);
    },
  }));
  return new Response(body, {headers: response.headers});
}

/** Returns the bytes of a response; one that breaks off, or was read before, is no answer. */
async function received(response, signal) {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    if (error.name === 'AbortError' || signal?.aborted) throw error;
    throw new WickError('io', `Cannot read all of ${response.url || 'a response'}: ${error.message}`, {cause: error});
  }
}

const isBytes = source => source instanceof ArrayBuffer || ArrayBuffer.isView(source) ||
  (typeof SharedArrayBuffer === 'function' && source instanceof SharedArrayBuffer);
const view = bytes => ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);

const isBlob = source => typeof Blob === 'function' && source instanceof Blob;
const isExchange = source => source instanceof Response || source instanceof Request;

/** Where something comes from, as errors name it; '' of bytes. */
export function nameOf(source) {
  const name = typeof source === 'string' || source instanceof URL ? `${source}` : (isExchange(source) && source.url) || source?.name || '';
  return name.length > 200 ? `${name.slice(0, 200)}...` : name;  // of a data: address
}
/** Servers of one page answer it to any address. */
export const isHtml = bytes => bytes[0] === 60 && bytes.length > 1 && /[!a-z?]/i.test(String.fromCharCode(bytes[1]));

function checkSource(source) {
  if (typeof source === 'string' || source instanceof URL || isBytes(source) || isBlob(source) || isExchange(source)) return;
  const hint = typeof source?.then === 'function' ? ': await it' : '';
  throw new WickError('invalid argument', `An address, a Request, a Response, a Blob or bytes are wanted, not ${kind(source)}${hint}`);
}

/** Returns the bytes of a source as a Uint8Array. */
export async function bytesOf(source, {signal, progress} = {}) {
  checkSource(source);
  if (isBytes(source)) {
    if (isDetached(source.buffer ?? source)) throw new WickError('invalid argument', 'The memory of these bytes was transferred before: they are empty');
    return view(source);
  }
  if (isBlob(source)) return new Uint8Array(await source.arrayBuffer());
  const path = isExchange(source) ? null : nodePath(source);
  if (path !== null) return readFile(path, {signal, progress});
  return received(counted(await request(source, signal), progress), signal);
}

/** Throws where bytes are not WebAssembly at all: the engine is not what is wrong. */
function looked(bytes, source) {
  if ([0, 97, 115, 109].every((byte, i) => bytes[i] === byte)) return bytes;
  throw new WickError('invalid argument', `${nameOf(source) || 'What was given'} is ${isHtml(bytes) ? 'a page of HTML, not' : 'not'} WebAssembly: wick.wasm has to be there, or open() be told where it is`);
}

/** Compiles a module, while it is being received where the server says that it is application/wasm. */
export async function moduleOf(source, {signal, progress} = {}) {
  if (source instanceof WebAssembly.Module) return source;
  checkSource(source);
  try {
    const fetched = !isBytes(source) && !isBlob(source) && (isExchange(source) || nodePath(source) === null);
    if (!fetched) return await WebAssembly.compile(looked(await bytesOf(source, {signal, progress}), source));
    const response = await request(source, signal);
    const streams = typeof WebAssembly.compileStreaming === 'function' && response.headers.get('content-type')?.startsWith('application/wasm');
    const body = counted(response, progress);
    return streams ? await WebAssembly.compileStreaming(body) : await WebAssembly.compile(looked(await received(body, signal), source));
  } catch (error) {
    if (error instanceof WebAssembly.CompileError)
      throw new WickError('refused', `WebAssembly does not compile here: ${error.message}`, {cause: error});
    // A stream that breaks off, or was read before: nothing is wrong with the engine.
    if (error instanceof TypeError && !signal?.aborted) throw new WickError('io', `Cannot receive the module: ${error.message}`, {cause: error});
    throw error;
  }
}
