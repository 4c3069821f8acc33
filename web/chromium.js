// A headless Chromium for tests and benchmarks, by playwright-core (npm) and Debian's chromium; null with the reason
// where one of them is not installed.
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

export const executable = process.env.WICK_CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

/** Returns {browser}, or {lacking: what is not installed}. Modules are looked for in NODE_MODULES, else from here. */
export async function chromium(options = {}) {
  if (!executable || !existsSync(executable)) return {lacking: 'chromium is not installed (Debian: chromium)'};
  let playwright;
  try {
    const from = process.env.WICK_NODE_MODULES ? `${process.env.WICK_NODE_MODULES}/x.js` : import.meta.url;
    playwright = await import(pathToFileURL(createRequire(from).resolve('playwright-core')));
  } catch {
    return {lacking: 'playwright-core is not installed (npm install playwright-core; WICK_NODE_MODULES names its folder)'};
  }
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', ...(options.args ?? [])];
  return {browser: await (playwright.chromium ?? playwright.default.chromium).launch({executablePath: executable, headless: true, args})};
}
