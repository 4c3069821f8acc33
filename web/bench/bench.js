#!/usr/bin/env node
// Times models in headless Chromium, Wick beside onnxruntime-web, both on one thread, in one run:
//   bench.js --package DIR --ort DIR MODEL...      MODEL: a path without its end; MODEL.wick and MODEL.onnx are there
// --package holds index.js and wick.wasm (build/web/package), --ort is onnxruntime-web's dist/. Prints a JSON line each:
// cold (module, model and first answer after the page began), best, p50 and p90 of a run in ms: medians of the rounds.
import {basename, dirname, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';

import {chromium} from '../chromium.js';
import {serve} from '../serve.js';

const here = dirname(fileURLToPath(import.meta.url));
const words = process.argv.slice(2);
const option = name => {
  const at = words.indexOf(name);
  return at < 0 ? undefined : words.splice(at, 2)[1];
};
const pack = option('--package'), ort = option('--ort'), rounds = Number(option('--rounds') ?? 5), seconds = Number(option('--seconds') ?? 1);
if (!pack || words.length === 0) {
  console.error('usage: bench.js --package DIR [--ort DIR] [--rounds N] [--seconds S] MODEL...');
  process.exit(2);
}
const {browser, lacking} = await chromium();
if (lacking) {
  console.log(`SKIP: ${lacking}`);
  process.exit(77);
}
const folders = [...new Set(words.map(model => dirname(resolve(model))))];
const servers = {wick: await serve([resolve(pack), here, ...folders]), ort: ort && await serve([resolve(ort), here, ...folders])};

/** One page, one engine, one model, as a visitor's first: nothing is cached. */
async function once(engine, model, time) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${servers[engine].url}/page.html?engine=${engine}&model=${basename(model)}&ms=${time * 1000}`);
  const result = await page.waitForFunction(() => globalThis.result, null, {timeout: 300_000});
  const value = await result.jsonValue();
  await context.close();
  if (value.error) throw new Error(`${engine} ${model}: ${value.error}`);
  return value;
}

const median = list => [...list].sort((a, b) => a - b)[list.length >> 1];
for (const model of words) {
  const runs = {wick: [], ort: []};
  const engines = ort ? ['wick', 'ort'] : ['wick'];
  for (let round = 0; round < rounds; ++round)
    for (const engine of round % 2 ? engines : [...engines].reverse()) runs[engine].push(await once(engine, model, seconds));
  const line = {model: basename(model), numerics: runs.wick[0].numerics};
  for (const engine of engines) {
    const of = key => Number(median(runs[engine].map(r => r[key])).toPrecision(4));
    line[engine] = {cold: of('cold'), best: of('best'), p50: of('p50'), p90: of('p90')};
  }
  if (ort) {
    line.times_as_fast = Number((line.ort.p50 / line.wick.p50).toFixed(2));
    line.best_times = Number((line.ort.best / line.wick.best).toFixed(2));
    line.cold_times = Number((line.ort.cold / line.wick.cold).toFixed(2));
    const a = runs.wick[0].output, b = runs.ort[0].output;
    line.difference = Number((Math.max(...a.map((x, i) => Math.abs(x - b[i]))) / Math.max(...b.map(Math.abs))).toPrecision(2));
  }
  console.log(JSON.stringify(line));
}
await browser.close();
for (const server of Object.values(servers)) await server?.close();
