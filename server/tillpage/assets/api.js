// Calls of the till API. The cookie of this page says which till calls; it counts only with
// the Content-Type application/json.

// A Refusal is an answer of the server that is not a success.
export class Refusal extends Error {
  constructor(status, error, retryAfter) {
    super(error.message || String(status));
    this.status = status;
    this.code = error.code || "internal_error";
    this.retryAfter = retryAfter;
  }
}

// NoAnswer says that nothing is known of what the server did.
export class NoAnswer extends Error {}

// session is the staff session, or the location's PIN where it has no staff. Both are in
// memory alone.
export const session = { staff: null, token: "", pin: "" };

// clock is the difference between the server's time and this device's, and seen the last
// time of the server, both in milliseconds. Some devices begin again in 1970 or 2010 when
// they have been without power.
let clock = Number(localStorage.getItem("till-clock")) || 0;
let seen = Number(localStorage.getItem("till-seen")) || 0;
export const serverNow = () => Math.max(Date.now() + clock, seen);

function readClock(answer) {
  const at = Date.parse(answer.headers.get("Date"));
  if (!at) return;
  if (Math.abs(at - Date.now() - clock) >= 2000) {
    clock = at - Date.now();
    localStorage.setItem("till-clock", clock);
  }
  if (Math.abs(at - seen) >= 10_000) localStorage.setItem("till-seen", (seen = at));
}

const patience = 12_000; // in milliseconds

export async function call(method, path, body) {
  const headers = { "Content-Type": "application/json" };
  if (session.token) headers["X-Staff-Session"] = session.token;
  else if (session.pin && method !== "GET") headers["X-Staff-Pin"] = session.pin;
  return request(method, "/till/v1" + path, headers, body);
}

// request calls a path of this server.
export async function request(method, path, headers, body) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), patience);
  let answer, content;
  try {
    answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: "no-store", redirect: "error", signal: abort.signal });
    content = answer.status === 204 ? null : await answer.json();
  } catch {
    throw new NoAnswer();
  } finally {
    clearTimeout(timer);
  }
  readClock(answer);
  if (answer.ok) return content;
  if (answer.status >= 500 || !content?.error?.code) throw new NoAnswer(); // also of a proxy
  throw new Refusal(answer.status, content.error, Number(answer.headers.get("Retry-After")) || 0);
}

// endSession forgets who is signed in.
export function endSession() {
  session.staff = null;
  session.token = session.pin = "";
}
