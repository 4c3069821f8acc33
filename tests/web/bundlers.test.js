// The package in what people build pages with: esbuild, Vite and webpack, each of which has to find the modules and the worker.
// The pages that they make run in headless Chromium. Needs a built package (WICK_WEB), the tool that makes models (WICK_TOOL) and
// the bundlers (WICK_NODE_MODULES, tools/scripts/setup_web.sh).
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {pathToFileURL} from 'node:url';

import {chromium} from '../../web/chromium.js';
import {serve} from '../../web/serve.js';
import {onnx} from './onnx.js';

const {WICK_WEB: built, WICK_TOOL: tool, WICK_NODE_MODULES: modules} = process.env;
const folder = mkdtempSync(join(tmpdir(), 'wick-bundlers-')), wick = join(folder, 'node_modules/wick-web');
let browser;
before(async () => {
  ({browser} = await chromium());
  cpSync(built, wick, {recursive: true});
  mkdirSync(join(folder, 'public'));
  const one = {name: 'x', kind: 'tensor', elem: 1, dims: ['n']};
  writeFileSync(join(folder, 'model.onnx'), onnx({op: 'Neg', inputs: [one], output: {...one, name: 'y'}}));
  execFileSync(tool, ['convert', join(folder, 'model.onnx'), '-o', join(folder, 'public/model.wick')], {stdio: 'pipe'});
  writeFileSync(join(folder, 'main.js'), `import {load} from 'wick-web';
    const answer = async options => Array.from((await (await load('model.wick', options)).run([1, 2])).y.data);
    Promise.all([answer({}), answer({worker: true})]).then(both => { globalThis.answers = both; }, error => { globalThis.answers = error.message; });`);
  writeFileSync(join(folder, 'index.html'), '<!doctype html><link rel="icon" href="data:,"><script type="module" src="./main.js"></script>');
});
after(async () => {
  await browser?.close();
  rmSync(folder, {recursive: true});
});

const BUNDLERS = {
  async esbuild({build}, outdir) {
    // It knows no files but scripts: the worker is an entry of its own, and the modules are copied (docs/use/web.md).
    await build({absWorkingDir: folder, entryPoints: ['main.js', 'node_modules/wick-web/worker.js'], entryNames: '[name]', outdir, bundle: true, minify: true, format: 'esm', logLevel: 'silent'});
    for (const name of readdirSync(wick).filter(name => name.endsWith('.wasm'))) copyFileSync(join(wick, name), join(outdir, name));
  },
  async vite({build}, outDir) {
    await build({root: folder, configFile: false, base: './', logLevel: 'silent', build: {outDir}});
  },
  async webpack({default: webpack}, path) {
    const stats = await new Promise((resolve, reject) =>
      webpack({mode: 'production', context: folder, entry: './main.js', output: {path}, performance: false}, (error, stats) => error ? reject(error) : resolve(stats)));
    assert.ok(!stats.hasErrors() && !stats.hasWarnings(), stats.toString());
  },
};

for (const [name, make] of Object.entries(BUNDLERS)) {
  test(`${name}: a page, and its worker`, async t => {
    let bundler;
    try {
      const from = createRequire(join(modules, 'x.js'));
      bundler = await import(name === 'vite' ? pathToFileURL(join(modules, 'vite/dist/node/index.js')) : pathToFileURL(from.resolve(name)));
    } catch {
      return t.skip(`${name} is not installed`);
    }
    const out = join(folder, `out-${name}`);
    await make(bundler, out);
    for (const file of ['index.html', 'model.wick'])
      if (!existsSync(join(out, file))) copyFileSync(join(folder, file === 'index.html' ? file : `public/${file}`), join(out, file));
    const server = await serve([out]);
    t.after(server.close);
    const page = await browser.newPage();
    await page.goto(`${server.url}/`);
    const answers = await page.waitForFunction(() => globalThis.answers, null, {timeout: 60_000});
    assert.deepEqual(await answers.jsonValue(), [[-1, -2], [-1, -2]]);
    assert.ok(server.requests.some(({path}) => /\.wasm$/.test(path)));
    await page.close();
  });
}
