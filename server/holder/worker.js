// Keeps the last state of each card's page, with the files that it loads, and shows it
// where there is no connection. There is a cache for each page, named by its path. Its
// copy is deleted once the link has ended.
const page = /^\/c\/[^/]+$/;
const file = /^\/(assets|logo)\//;
const away = [502, 503, 504]; // of a proxy before a server that does not answer
let keeping; // the promise of the copy that is made

addEventListener("install", () => skipWaiting());
addEventListener("activate", (e) => e.waitUntil(clients.claim()));
addEventListener("fetch", (e) => {
  const { origin, pathname } = new URL(e.request.url);
  if (e.request.method !== "GET" || origin !== location.origin) return;
  if (page.test(pathname)) e.respondWith(show(e, pathname));
  else if (file.test(pathname)) e.respondWith(caches.match(pathname).then((kept) => kept ?? fetch(e.request)));
});

async function show(e, path) {
  let answer;
  try {
    answer = await fetch(e.request);
  } catch {
    return (await find(path)) ?? Response.error();
  }
  if (away.includes(answer.status)) return (await find(path)) ?? answer;
  if (answer.status === 404 || answer.status === 410) {
    await keeping?.catch(() => {}); // of an answer from before
    await caches.delete(path);
  } else if (answer.ok) e.waitUntil((keeping = keep(path, answer.clone())));
  return answer;
}

async function find(path) {
  return (await caches.has(path)) ? (await caches.open(path)).match(path) : undefined;
}

async function keep(path, answer) {
  const html = await answer.text();
  const cache = await caches.open(path);
  const files = [...html.matchAll(/"(\/(?:assets|logo)\/[^"]+)"/g)].map((m) => m[1]);
  for (const { url } of await cache.keys()) {
    const old = new URL(url).pathname;
    if (old !== path && !files.includes(old)) await cache.delete(old);
  }
  for (const f of files) if (!(await cache.match(f))) await cache.add(f);
  const headers = new Headers(answer.headers);
  headers.delete("Content-Length");
  await cache.put(path, new Response(html.replace('id="stale" data-part hidden', 'id="stale" data-part'), { headers }));
}

// Notices about cards, which the server encrypts for this browser. The path of the page is the tag, so
// that a newer notice takes the place of the one before.
addEventListener("push", (e) => {
  const { title, body, url } = e.data.json();
  const path = new URL(url).pathname;
  const options = { body, tag: path, renotify: true, data: path, icon: path + "/icon/192.png" };
  e.waitUntil(registration.showNotification(title, options));
});

addEventListener("notificationclick", (e) => {
  e.notification.close();
  e.waitUntil(open(e.notification.data));
});

async function open(path) {
  const pages = await clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = pages.find((p) => new URL(p.url).pathname === path);
  await (page ? page.focus() : clients.openWindow(path));
}
