// The demo page in headless Chromium (WICK_SITE, made by tools/scripts/web.sh): drawing with a pointer and with keys,
// reading, a phone, no network, a slow one, and engines that refuse. WICK_SHOTS: a folder for screenshots.
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';

import {chromium} from '../../web/chromium.js';
import {serve} from '../../web/serve.js';

const {WICK_SITE: site, WICK_SHOTS: shots} = process.env;
let browser, server;
before(async () => {
  server = await serve([site]);
  ({browser} = await chromium());
});
after(async () => {
  await browser?.close();
  await server?.close();
});

/** Opens the page as a first visitor, and fails the test for what the page complains of. */
async function visit({url = server.url, ...options} = {}, prepare = async () => {}) {
  const context = await browser.newContext({viewport: {width: 800, height: 780}, ...options});
  const page = await context.newPage();
  page.errors = [];
  page.on('pageerror', error => page.errors.push(error.message));
  await prepare(page, context);
  await page.goto(url);
  return page;
}
const answered = page => page.waitForFunction(() => performance.getEntriesByName('first answer').length === 1, null, {timeout: 30_000});
const answer = page => page.locator('#answer').textContent();
const shoot = (page, name) => shots && page.screenshot({path: join(shots, `${name}.png`)});
const says = (page, pattern) => page.waitForFunction(p => new RegExp(p).test(document.getElementById('answer').textContent), pattern.source, {timeout: 30_000});
async function leave(page) {
  assert.deepEqual(page.errors, []);
  await page.context().close();
}
/** Draws lines through points, in fractions of the picture. */
async function draw(page, ...lines) {
  const box = await page.locator('#pad').boundingBox();
  for (const [first, ...rest] of lines) {
    await page.mouse.move(box.x + first[0] * box.width, box.y + first[1] * box.height);
    await page.mouse.down();
    for (const [x, y] of rest) await page.mouse.move(box.x + x * box.width, box.y + y * box.height, {steps: 5});
    await page.mouse.up();
  }
}

test('the first answer, and the badge', async () => {
  const page = await visit();
  await answered(page);
  assert.match(await answer(page), /Ankle boot/);
  await page.waitForFunction(() => document.getElementById('badge').dataset.state !== 'wait');
  const badge = await page.locator('#badge').textContent(), numerics = await page.locator('#numerics').textContent();
  if (/P2/.test(numerics)) assert.match(badge, /100 test images, 1000 numbers: every bit is the trainer's/);
  else assert.match(badge, /at most/);
  await shoot(page, 'garment');
  await leave(page);
});

test('a garment is drawn, filled, taken back and cleared', async () => {
  const page = await visit();
  await answered(page);
  await page.click('#clear');
  await says(page, /^Draw a garment/);
  // A pair of trousers.
  await draw(page, [[0.3, 0.05], [0.7, 0.05], [0.75, 0.95], [0.58, 0.95], [0.5, 0.3], [0.42, 0.95], [0.25, 0.95], [0.3, 0.05]]);
  await page.click('#fill');
  await says(page, /Trouser/);
  await shoot(page, 'drawn');
  await page.click('#undo');
  await page.click('#undo');
  await says(page, /^Draw a garment/);
  await leave(page);
});

test('with keys alone', async () => {
  const page = await visit();
  await answered(page);
  for (let i = 0; i < 20 && await page.evaluate(() => document.activeElement.id !== 'pad'); ++i) await page.keyboard.press('Tab');
  await page.keyboard.press('Delete');
  await says(page, /^Draw a garment/);
  const go = async (key, n) => {
    for (let i = 0; i < n; ++i) await page.keyboard.press(key);
  };
  await go('ArrowLeft', 5), await go('ArrowUp', 10);
  await page.keyboard.press(' ');
  await go('ArrowRight', 10), await go('ArrowDown', 20), await go('ArrowLeft', 10), await go('ArrowUp', 20);
  await page.keyboard.press(' ');
  await says(page, /^It looks like/);
  const ink = () => page.evaluate(() => document.getElementById('seen').getContext('2d').getImageData(0, 0, 28, 28).data.filter((v, i) => i % 4 === 0 && v > 100).length);
  const outline = await ink();
  await page.keyboard.press('f');
  await page.waitForFunction(n => document.getElementById('seen').getContext('2d').getImageData(0, 0, 28, 28).data.filter((v, i) => i % 4 === 0 && v > 100).length > n, outline + 50);
  await page.keyboard.press('e');
  assert.equal(await page.getAttribute('#erase', 'aria-pressed'), 'true');
  await page.locator('[role=tab]').first().focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.locator('[role=tab][aria-selected=true]').evaluate(tab => tab === document.activeElement), true);
  await leave(page);
});

const hasDigits = site && existsSync(join(site, 'models/digit.wick')), hasReader = site && existsSync(join(site, 'models/read.wick'));

test('digits', {skip: hasDigits ? false : 'the page has no digits'}, async () => {
  const page = await visit();
  await answered(page);
  await page.click('text=Digit');
  await says(page, /7$/);
  await page.click('#clear');
  await draw(page, [[0.52, 0.15], [0.5, 0.85]]);
  await says(page, /1$/);
  await page.click('#clear');
  await draw(page, [[0.5, 0.15], [0.3, 0.3], [0.27, 0.6], [0.4, 0.85], [0.6, 0.85], [0.73, 0.6], [0.7, 0.3], [0.5, 0.15]]);
  await says(page, /0$/);
  await page.waitForFunction(() => document.getElementById('badge').dataset.state !== 'wait');
  assert.notEqual(await page.getAttribute('#badge', 'data-state'), 'differs');
  await shoot(page, 'digit');
  await leave(page);
});

test('a line is read, typed and drawn', {skip: hasReader ? false : 'the page has no reader'}, async () => {
  const page = await visit();
  await answered(page);
  await page.click('text=Read');
  await page.fill('#typed', 'HELLO 42');
  await says(page, /^HELLO 42$/);
  await shoot(page, 'read');
  await page.click('#clear');
  await says(page, /^Write or type/);
  // L, then T.
  await draw(page, [[0.3, 0.15], [0.3, 0.8], [0.36, 0.8]], [[0.4, 0.15], [0.49, 0.15]], [[0.445, 0.15], [0.445, 0.8]]);
  await says(page, /^L\s?T$/);
  await leave(page);
});

test('a phone', async () => {
  const page = await visit({viewport: {width: 360, height: 740}, isMobile: true, hasTouch: true, deviceScaleFactor: 1});
  await answered(page);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the screen');
  for (const button of await page.locator('button:visible').all()) assert.ok((await button.boundingBox()).height >= 44, 'large enough for a finger');
  await page.tap('#clear');
  const box = await page.locator('#pad').boundingBox();
  await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
  await says(page, /It looks like/);
  await page.tap('#example');
  await says(page, /Pullover/);
  await shoot(page, 'phone');
  await leave(page);
});

test('without a network', async () => {
  const page = await visit();
  await answered(page);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(async () => navigator.serviceWorker.controller && (await caches.match('lenet-fma.wasm') ?? await caches.match('lenet.wasm')));
  await page.context().setOffline(true);
  await page.reload();
  await answered(page);
  assert.match(await answer(page), /Ankle boot/);
  if (hasReader) {
    await page.click('text=Read');
    await page.locator('#trouble').waitFor();
    assert.match(await page.locator('#trouble').textContent(), /offline/);
    await page.click('text=Garment');
    await says(page, /Ankle boot/);
  }
  await leave(page);
});

test('a slow network: the page is usable while the network loads', async () => {
  const page = await visit({}, async (page, context) => {
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', {offline: false, latency: 150, downloadThroughput: 400_000, uploadThroughput: 100_000});
  });
  await page.locator('[role=tab]').first().waitFor();
  await page.waitForFunction(() => document.getElementById('loading').value > 0.05);
  assert.equal(await answer(page), '');
  await page.click('#clear');
  await draw(page, [[0.3, 0.05], [0.7, 0.05], [0.75, 0.95], [0.58, 0.95], [0.5, 0.3], [0.42, 0.95], [0.25, 0.95], [0.3, 0.05]]);
  await page.click('#fill');
  await shoot(page, 'slow');
  await says(page, /Trouser/);
  assert.equal(await page.locator('#loading').isHidden(), true);
  await leave(page);
});

for (const [why, prepare, pattern] of [
  ['a policy forbids it', page => page.route('**/', async route => {
    const response = await route.fetch();
    await route.fulfill({response, headers: {...response.headers(), 'content-security-policy': "script-src 'self'"}});
  }), /wasm-unsafe-eval/],
  ['there is none', page => page.addInitScript(() => { delete globalThis.WebAssembly; }), /no WebAssembly/],
  ['the module is damaged', page => page.route('**/lenet*.wasm', route => route.fulfill({contentType: 'application/wasm', body: 'none'})), /does not compile/],
]) {
  test(`WebAssembly is refused: ${why}`, async () => {
    const page = await visit({}, prepare);
    await page.locator('#trouble').waitFor();
    assert.match(await page.locator('#trouble').textContent(), pattern);
    assert.equal(await answer(page), '');
    await draw(page, [[0.3, 0.3], [0.6, 0.6]]);
    if (why === 'there is none') await shoot(page, 'refused');
    await leave(page);
  });
}

test('it asks for no isolation, and loads only what it needs', async t => {
  const own = await serve([site]);
  t.after(own.close);
  const page = await visit({url: own.url});
  await answered(page);
  assert.equal(await page.evaluate(() => crossOriginIsolated), false);
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForTimeout(1000);
  // Also by then: the script of the reader, which the service worker fetches, is small.
  assert.deepEqual(own.requests.map(r => r.path).filter(path => /wick\.wasm|wick-fma|models\/read/.test(path)), [], 'neither the reader nor every op');
  const code = new Map(own.requests.filter(r => !/\.wick$|\.npy$|sw\.js|files/.test(r.path)).map(r => [r.path, r.bytes]));
  const bytes = [...code.values()].reduce((a, b) => a + b);
  console.log(`# the page without weights: ${bytes} bytes, ${[...code.keys()].join(' ')}`);
  assert.ok(bytes <= 100_000);
  await leave(page);
});
