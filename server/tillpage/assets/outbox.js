// Every write to the ledger goes through write. Its reference is in IndexedDB before it is
// sent, so that it is made once, whatever happens to this page or the connection.
//
// The states of a record: "open" (sent, the answer is not known), "waiting" (to be sent),
// "done" (kept for seven days, in case the server is restored from a backup), and "refused"
// (shown until a person removes it). A kill of the page leaves the record in the state that
// it had before. Sending it again is safe in each of them.
import { NoAnswer, Refusal, call, endSession, serverNow, session } from "./api.js";
import { all, keep, put, remove, uuid } from "./records.js";

const week = 7 * 24 * 3600_000; // in milliseconds

let changed = () => {};
export const onChange = (f) => (changed = f);

// meet asks the server what this till is, and calls setTill and seeRestore with the answer.
let meet = async () => {};
export const onMeet = (f) => (meet = f);

let demandsStaff = false;
let shop = "";
export const setTill = (me) => {
  demandsStaff = !!me?.location.require_staff_pin;
  shop = me?.shop.id || "";
};

// blocked says why what waits is not sent: "", "connection", or the code of a refusal.
export let blocked = "";

// obstacle returns the same as an error.
export const obstacle = () => (blocked === "connection" ? new NoAnswer() : new Refusal(0, { code: blocked }));

let last = 0; // the greatest number of a record
const nextSeq = () => (last = Math.max(Date.now(), last + 1));

// canSend reports whether a write would not be refused for want of a member of staff.
const canSend = () => !demandsStaff || session.token || session.pin;

// write makes a write and returns { answer, reference }, or { queued: true } for a stamp
// that waits for the connection. It throws a Refusal, or NoAnswer, with the record if it is
// not known whether the write was made. What waits is sent before, so that the order is kept.
export async function write(kind, path, body, label) {
  const record = { reference: uuid(), seq: nextSeq(), kind, shop, path, body, label, at: serverNow(), state: "open" };
  await put(record);
  if (!(await waiting()).length || (await flush())) return attempt(record, true);
  if (kind === "stamp" && (blocked === "connection" || blocked === "rate_limited")) return queue(record);
  await discard(record);
  throw obstacle();
}

// early are the refusals that the server gives before it looks whether it knows the
// reference. They say nothing of an earlier attempt.
const early = ["unauthenticated", "unauthorized", "rate_limited", "internal_error"];

async function attempt(record, first) {
  try {
    return { answer: await send(record), reference: record.reference };
  } catch (error) {
    if (error instanceof Refusal && (first || !early.includes(error.code))) await discard(record);
    if (!(error instanceof NoAnswer)) throw error;
    if (record.kind === "stamp") return queue(record);
    error.record = record;
    changed();
    throw error;
  }
}

// again sends a record whose answer is not known.
export const again = (record) => attempt(record, false);

async function queue(record) {
  record.state = "waiting";
  await put(record);
  keep();
  blocked ||= "connection";
  changed();
  return { queued: true };
}

// send sends a record and keeps it as done.
async function send(record) {
  const body = { ...record.body, client_reference: record.reference };
  if (record.state === "waiting" && record.kind === "stamp") body.occurred_at = new Date(record.at).toISOString();
  const answer = await call("POST", record.path, body);
  if (!answer?.transaction && !answer?.id) throw new NoAnswer(); // of something else than the server
  record.state = "done";
  await put(record);
  changed();
  return answer;
}

// isForeign reports whether a record is of another shop than that of this till.
export const isForeign = (record) => !!(record.shop && shop && record.shop !== shop);

export const waiting = async () => (await all()).filter((r) => r.state === "waiting" && !isForeign(r));
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
const stopping = ["unauthenticated", "unauthorized", "invalid_credentials", "rate_limited", "subscription_suspended", "location_disabled"];

// sendWaiting first has seeRestore called, since what a restored server has lost is older
// than what waits.
async function sendWaiting() {
  if (!(await waiting()).length) return stop("");
  try {
    await meet();
  } catch (error) {
    return stop(error instanceof Refusal ? error.code : "connection");
  }
  for (let list = await waiting(); list.length; list = await waiting()) {
    for (const record of list) {
      const reason = await deliver(record);
      if (reason) return stop(reason);
    }
  }
  return stop("");
}

// deliver sends a record that waits, and returns why it goes on waiting, or "".
async function deliver(record) {
  if (!canSend()) return "invalid_credentials";
  const used = session.token || session.pin;
  try {
    await send(record);
    return "";
  } catch (error) {
    if (!(error instanceof Refusal)) return "connection";
    if (error.code === "invalid_credentials") {
      if (!used) demandsStaff = true;
      else if (used === (session.token || session.pin)) endSession(); // a wrong PIN must not be sent again and again
      changed();
      return deliver(record);
    }
    if (stopping.includes(error.code)) return error.code;
    record.state = "refused";
    record.code = error.code;
    await put(record);
    changed();
    return "";
  }
}

function stop(reason) {
  blocked = reason;
  changed();
  return !reason;
}

// start takes up what an earlier page left: a stamp without an answer is sent again.
export async function start() {
  for (const record of await all()) {
    last = Math.max(last, record.seq);
    if (record.state === "open" && record.kind === "stamp") await queue(record);
  }
  await removeOld();
  changed();
}

// removeOld removes what is no longer needed.
export async function removeOld() {
  for (const record of await all()) {
    if (record.state === "done" && record.at < serverNow() - week) await remove(record.reference);
  }
}

// seeRestore has acknowledged writes sent again if the server was restored from a backup
// since: it answers those that the backup has as before, and makes the others. Cards that
// were issued are left out, since their codes would not be the same.
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
