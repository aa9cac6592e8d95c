// Every write to the ledger goes through write. Its reference is in IndexedDB before it is
// sent, so that it is made once, whatever happens to this page or the connection.
//
// The states of a record: "open" (sent, the answer is not known), "waiting" (a stamp that is
// to be sent), "done" (kept for seven days, in case the server is restored from a backup), and
// "refused" (shown until a person removes it).
import { NoAnswer, Refusal, call, serverNow, session } from "./api.js";
import { all, put, remove, uuid } from "./records.js";

const week = 7 * 24 * 3600_000; // in milliseconds

let changed = () => {};
export const onChange = (f) => (changed = f);
let demandsStaff = false;
export const setDemandsStaff = (on) => (demandsStaff = on);

// blocked says what the waiting stamps wait for: "", "connection", "staff" or "pairing".
export let blocked = "";

let last = 0;
const nextSeq = () => (last = Math.max(Date.now(), last + 1));

// canSend reports whether a write would not be refused for want of a member of staff.
const canSend = () => !demandsStaff || session.token || session.pin;

// write makes a write and returns { answer, reference }, or { queued: true } for a stamp
// that waits for the connection. It throws a Refusal, or NoAnswer with the record.
export async function write(kind, path, body, label) {
  const record = { reference: uuid(), seq: nextSeq(), kind, path, body, label, at: serverNow(), state: "open" };
  await put(record);
  if (kind === "stamp" && (await waiting()).length && !(await flush())) return queue(record);
  return attempt(record);
}

async function attempt(record) {
  try {
    return { answer: await send(record), reference: record.reference };
  } catch (error) {
    if (!(error instanceof NoAnswer)) {
      await remove(record.reference);
      changed();
      throw error;
    }
    if (record.kind === "stamp") return queue(record);
    error.record = record;
    changed();
    throw error;
  }
}

// again sends a record whose answer is not known.
export const again = (record) => attempt(record);

async function queue(record) {
  record.state = "waiting";
  await put(record);
  blocked ||= "connection";
  changed();
  return { queued: true };
}

// send sends a record and keeps it as done.
async function send(record) {
  const body = { ...record.body, client_reference: record.reference };
  if (record.state === "waiting" && record.kind === "stamp") body.occurred_at = new Date(record.at).toISOString();
  const answer = await call("POST", record.path, body);
  record.state = "done";
  await put(record);
  changed();
  return answer;
}

export const waiting = async () => (await all()).filter((r) => r.state === "waiting");
export const listed = async () => (await all()).filter((r) => r.state !== "done");

// discard forgets a record that was refused, or that a person gives up.
export async function discard(record) {
  await remove(record.reference);
  changed();
}

let flushing;

// flush sends what waits, in order, and returns whether all of it was answered.
export function flush() {
  flushing ??= sendWaiting().finally(() => (flushing = undefined));
  return flushing;
}

// stopping are the refusals that concern all writes of this till, not the one that was sent.
const stopping = { unauthenticated: "pairing", invalid_credentials: "staff", rate_limited: "connection", subscription_suspended: "connection", location_disabled: "connection" };

async function sendWaiting() {
  for (const record of await waiting()) {
    if (!canSend()) return stop("staff");
    try {
      await send(record);
    } catch (error) {
      if (!(error instanceof Refusal)) return stop("connection");
      if (stopping[error.code]) return stop(stopping[error.code]);
      record.state = "refused";
      record.code = error.code;
      await put(record);
      changed();
    }
  }
  stop("");
  return true;
}

function stop(reason) {
  blocked = reason;
  changed();
  return false;
}

// start takes up what an earlier page left: a stamp without an answer is sent again, and
// what is no longer needed is removed.
export async function start() {
  for (const record of await all()) {
    if (record.state === "done" && record.at < serverNow() - week) await remove(record.reference);
    else if (record.state === "open" && record.kind === "stamp") await queue(record);
  }
  changed();
}

// seeRestore sends acknowledged writes again if the server was restored from a backup since:
// it answers those that the backup has as before, and makes the others. Cards that were
// issued are left out, since their codes would not be the same.
export async function seeRestore(id) {
  if (!id) return;
  const known = localStorage.getItem("till-restore");
  if (known && known !== id) {
    for (const record of await all()) {
      if (record.state === "done" && record.kind !== "issue" && record.at > serverNow() - week) {
        record.state = "waiting";
        await put(record);
      }
    }
  }
  localStorage.setItem("till-restore", id);
}
