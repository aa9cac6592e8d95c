// The service worker. It keeps the page and its files, so that the till opens without a
// connection; the decoder is kept when it was first used. It keeps no answers of the API.
// shell, which the server writes before this, changes with every new version.
const version = "till-" + shell.join().split("").reduce((hash, c) => (Math.imul(hash, 31) + c.charCodeAt(0)) | 0, 7);
const page = "/till/";
const patience = 1000; // in milliseconds

addEventListener("install", (e) => {
  e.waitUntil(caches.open(version).then((cache) => cache.addAll([page, ...shell])).then(() => skipWaiting()));
});

addEventListener("activate", (e) => {
  e.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((n) => n.startsWith("till-") && n !== version).map((n) => caches.delete(n))))
      .then(() => clients.claim()),
  );
});

addEventListener("fetch", (e) => {
  const url = new URL(e.request.url);
  if (e.request.method !== "GET" || url.origin !== location.origin) return;
  if (e.request.mode === "navigate" && url.pathname === page) return e.respondWith(newest(e));
  if (url.pathname.startsWith("/till/assets/") || shell.includes(url.pathname)) return e.respondWith(kept(e.request));
});

// newest returns the page from the server, or the one that is kept if the server does not
// answer soon. It keeps the answer also when that comes later.
async function newest(e) {
  const cache = await caches.open(version);
  const old = await cache.match(page);
  const fresh = fetch(e.request).then(async (answer) => {
    if (answer.ok && !new URL(e.request.url).search) await cache.put(page, answer.clone());
    return answer.ok || !old ? answer : old;
  });
  if (!old) return fresh;
  e.waitUntil(fresh.catch(() => {}));
  return Promise.race([fresh.catch(() => old), new Promise((resolve) => setTimeout(resolve, patience, old))]);
}

// kept returns a file whose name changes with its contents.
async function kept(request) {
  const cache = await caches.open(version);
  const old = await cache.match(request, { ignoreVary: true });
  if (old) return old;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}
