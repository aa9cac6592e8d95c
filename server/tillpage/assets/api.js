// Calls of the till API. The cookie of this page says which till calls; it counts only with
// the Content-Type application/json.

// A Refusal is an answer of the server that is not a success.
export class Refusal extends Error {
  constructor(status, error, retryAfter) {
    super(error.message || String(status));
    this.status = status;
    this.code = error.code || "internal_error";
    this.details = error.details || []; // of the fields
    this.retryAfter = retryAfter;
  }
}

// NoAnswer says that nothing is known of what the server did. late, if there is one, is the
// promise of the answer that may still come.
export class NoAnswer extends Error {
  constructor(late) {
    super();
    this.late = late;
  }
}

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

// How long an answer may take, in milliseconds.
const patience = 3000; // while a person waits
const backgroundPatience = 8000;
export const slow = 1000; // from which on the connection is slow

// connection is "connected", "slow" or "offline", and empty before the first answer.
export let connection = "";
let away = false; // the last answer did not come while a person would have waited

// isAway reports whether a request that a person waits for would not be answered in time. The
// page then asks only in the background, until an answer comes in time.
export const isAway = () => away;

let changed = () => {};
export const onConnection = (f) => (changed = f);

function setConnection(state, isNowAway) {
  if (state === connection && isNowAway === away) return;
  connection = state;
  away = isNowAway;
  changed();
}

// call calls the till API. A call in the background may take longer, and is made also while the
// server does not answer; insist is for a person who wants to try now. The answer of a late call
// is still awaited after a person has waited long enough (see NoAnswer). A call with the same key
// is made once.
export async function call(method, path, body, { background, insist, late, key } = {}) {
  if (away && !background && !insist) throw new NoAnswer();
  const headers = { "Content-Type": "application/json" };
  if (session.token) headers["X-Staff-Session"] = session.token;
  else if (session.pin && method !== "GET") headers["X-Staff-Pin"] = session.pin;
  if (key) headers["Idempotency-Key"] = key;
  return request(method, "/till/v1" + path, headers, body, background ? backgroundPatience : patience, late);
}

// request calls a path of this server.
export async function request(method, path, headers, body, wait = patience, late = false) {
  const abort = new AbortController();
  const answer = exchange(path, { method, headers, body: body && JSON.stringify(body), cache: "no-store", redirect: "error", signal: abort.signal });
  const timers = [setTimeout(() => connection !== "offline" && setConnection("slow", away), slow), setTimeout(() => abort.abort(), late ? backgroundPatience : wait)];
  answer.catch(() => {}).finally(() => timers.forEach(clearTimeout));
  if (!late) return answer;
  let timer;
  const giveUp = new Promise((_, reject) => {
    timer = setTimeout(() => (setConnection("offline", true), reject(new NoAnswer(answer))), wait);
  });
  return Promise.race([answer, giveUp]).finally(() => clearTimeout(timer));
}

// exchange sends a request, and notes what its answer says of the connection.
async function exchange(path, options) {
  const begin = performance.now();
  let answer, content;
  try {
    answer = await fetch(path, options);
    content = answer.status === 204 ? null : await answer.json();
  } catch {
    answer = undefined;
  }
  const refusal = content?.error?.code;
  if (!answer?.ok && !refusal) { // also an answer of a proxy
    setConnection("offline", true);
    throw new NoAnswer();
  }
  const took = performance.now() - begin;
  setConnection(took < slow ? "connected" : "slow", took > patience);
  readClock(answer);
  if (answer.ok) return content;
  if (answer.status >= 500) throw new NoAnswer();
  throw new Refusal(answer.status, content.error, Number(answer.headers.get("Retry-After")) || 0);
}

// endSession forgets who is signed in.
export function endSession() {
  session.staff = null;
  session.token = session.pin = "";
}
