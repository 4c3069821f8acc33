// Keeps the page for when there is no network: what files.json lists is stored when the page is first seen, what the page
// names by a message, and the reader when it is first used. The build writes the version, so that a new page replaces an
// old one.
const STORE = 'wick-@VERSION@';

addEventListener('install', event => event.waitUntil((async () => {
  const {files} = await (await fetch('files.json')).json();
  await (await caches.open(STORE)).addAll(files);
  await skipWaiting();
})()));

addEventListener('activate', event => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith('wick-') && name !== STORE) await caches.delete(name);
  await clients.claim();
})()));

addEventListener('message', event => event.waitUntil((async () => (await caches.open(STORE)).add(event.data.keep))()));

addEventListener('fetch', event => {
  const url = new URL(event.request.url);
  if (event.request.method !== 'GET' || url.origin !== location.origin) return;
  event.respondWith((async () => {
    const store = await caches.open(STORE);
    const kept = await store.match(event.request, {ignoreSearch: true});
    if (kept) return kept;
    const answer = await fetch(event.request);
    if (answer.ok) await store.put(event.request, answer.clone());
    return answer;
  })());
});
