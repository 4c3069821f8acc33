// Runs a WASI program: node run.mjs PROGRAM.wasm [WORDS...], in the current folder; it can read every file that node can read.
import {readFile} from 'node:fs/promises';
import {WASI} from 'node:wasi';

const [file, ...words] = process.argv.slice(2);
const wasi = new WASI({version: 'preview1', args: [file, ...words], preopens: {'.': process.cwd(), '/': '/'}, returnOnExit: true});
const program = await WebAssembly.compile(await readFile(file));
process.exit(wasi.start(await WebAssembly.instantiate(program, wasi.getImportObject())));
