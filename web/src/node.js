/**
 * Returns a module of Node. Bundlers look for the name in import(), and fail for a page where they find one of Node's, so
 * there is none to be found: this runs in Node alone.
 */
export const nodeModule = name => import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);
