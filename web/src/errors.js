/** Codes of wick.h, by number. 'refused' is this package's own: there is no engine to call. */
export const CODES = Object.freeze([
  'ok', 'invalid argument', 'shape mismatch', 'type mismatch', 'not found', 'unsupported', 'invalid program',
  'budget exceeded', 'out of memory', 'io', 'device', 'deadline', 'internal', 'cancelled', 'busy',
]);

/** What every function of this package throws. `code` is a name of CODES, or 'refused' where WebAssembly does not run. */
export class WickError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = 'WickError';
    this.code = code;
  }
}

/** Errors cross to another thread as plain objects. */
export const packError = error => ({
  code: error instanceof WickError ? error.code : 'internal',
  message: error instanceof WickError ? error.message : `${error?.name ?? 'Error'}: ${error?.message ?? error}`,
});
export const unpackError = packed => new WickError(packed.code, packed.message);
