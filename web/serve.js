#!/usr/bin/env node
// Serves folders of files on loopback: serve.js [--port N] FOLDER...  The first folder that has a file gives it, its
// .br beside it where the client takes that. No header asks for cross-origin isolation: nothing here needs it.
import {createReadStream} from 'node:fs';
import {stat} from 'node:fs/promises';
import {createServer} from 'node:http';
import {extname, join, normalize} from 'node:path';
import {fileURLToPath} from 'node:url';

const TYPES = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8', '.json': 'application/json', '.wasm': 'application/wasm', '.svg': 'image/svg+xml',
  '.png': 'image/png', '.txt': 'text/plain; charset=utf-8', '.webmanifest': 'application/manifest+json',
};

async function found(folders, path, encodings) {
  for (const folder of folders) {
    for (const [end, encoding] of encodings.includes('br') ? [['.br', 'br'], ['', null]] : [['', null]]) {
      const file = join(folder, path + end);
      const facts = await stat(file).catch(() => null);
      if (facts?.isFile()) return {file, encoding, bytes: facts.size};
    }
  }
  return null;
}

/** Returns {url, close(), requests}: a server on 127.0.0.1. `options.headers` are added to every answer. */
export async function serve(folders, {port = 0, headers = {}} = {}) {
  const requests = [];
  const server = createServer(async (request, response) => {
    let path = '';
    try {
      path = normalize(decodeURIComponent(new URL(request.url, 'http://host').pathname));
    } catch {
      // A malformed escape: no such file.
    }
    if (path.endsWith('/')) path += 'index.html';
    const one = path.includes('..') ? null : await found(folders, path, request.headers['accept-encoding'] ?? '');
    requests.push({path, bytes: one?.bytes ?? 0});
    if (!one || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(one ? 405 : 404, {'content-type': 'text/plain'});
      return response.end(one ? 'only GET\n' : `no ${path}\n`);
    }
    response.writeHead(200, {
      'content-type': TYPES[extname(path)] ?? 'application/octet-stream', 'content-length': one.bytes, 'cache-control': 'no-cache',
      ...(one.encoding ? {'content-encoding': one.encoding, vary: 'accept-encoding'} : {}), ...headers,
    });
    if (request.method === 'HEAD') return response.end();
    createReadStream(one.file).pipe(response);
  });
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    close: () => new Promise(done => {
      server.close(done);
      server.closeAllConnections();
    }),
  };
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) {
  const words = process.argv.slice(2);
  const at = words.indexOf('--port');
  const port = at < 0 ? 8000 : Number(words.splice(at, 2)[1]);
  if (words.length === 0) {
    console.error('usage: serve.js [--port N] FOLDER...');
    process.exit(2);
  }
  const {url} = await serve(words, {port});
  console.log(`${url}  (Ctrl-C ends it)`);
}
