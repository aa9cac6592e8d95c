// Keeps the elements with data-part and an id up to date. The element with data-live names
// a stream of server-sent events: each message holds the elements that changed, and the
// event "reload" says that the page must be read again. Where streams do not work the page
// is read again every 30 seconds. A page with data-reload is read again after so many seconds, as long as it has
// the attribute. A hidden page asks for nothing.
import { swap } from "./swap.js";

const root = document.querySelector("[data-live], [data-reload]");
let stream, timer;

async function reload() {
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.redirected) location.reload(); // the session has ended
    else if (answer.ok) swap(await answer.text());
  } catch {
    // The next attempt may succeed.
  }
}

function open() {
  const seconds = document.querySelector("[data-reload]")?.dataset.reload;
  if (seconds) {
    clearInterval(timer);
    timer = setInterval(() => (document.querySelector("[data-reload]") ? reload() : clearInterval(timer)), seconds * 1000);
    return;
  }
  if (stream || !root.dataset.live) return;
  stream = new EventSource(root.dataset.live);
  stream.onmessage = (e) => swap(e.data);
  stream.addEventListener("reload", reload);
  stream.onopen = () => clearInterval(timer);
  stream.onerror = () => {
    if (stream.readyState !== EventSource.CLOSED) return; // it connects again by itself
    clearInterval(timer);
    timer = setInterval(reload, 30_000);
  };
}

function close() {
  stream?.close();
  stream = undefined;
  clearInterval(timer);
}

if (root) {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return close();
    reload();
    open();
  });
  addEventListener("pagehide", close);
  if (!document.hidden) open();
}
