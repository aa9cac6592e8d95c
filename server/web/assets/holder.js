// Keeps the page of a card up to date while it is visible, and has the browser keep it
// for when there is no connection.
import { swap } from "./swap.js";

const events = document.querySelector("[data-events]")?.dataset.events;
let stream, reading, again;

// read reads the page again and swaps what has changed.
async function read() {
  if (reading) return void (again = true);
  reading = true;
  do {
    again = false;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.status === 404 || answer.status === 410) location.reload(); // the link has ended
      else if (answer.ok) swap(await answer.text());
    } catch {
      // The next attempt may succeed.
    }
  } while (again);
  reading = false;
}

function open() {
  if (stream) return;
  stream = new EventSource(events);
  stream.addEventListener("open", read); // for what changed before
  stream.addEventListener("changed", read);
  stream.addEventListener("closed", close);
}

function close() {
  stream?.close();
  stream = undefined;
}

if (events) {
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (e) => e.persisted && open());
  addEventListener("online", read);
  if (!document.hidden) open();
  navigator.serviceWorker?.addEventListener("controllerchange", read); // which has not seen the page yet
  navigator.serviceWorker?.register("/sw.js", { scope: "/c/" }).catch(() => {});
}
