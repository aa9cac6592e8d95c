// Every write to the ledger goes through write. Its reference is in IndexedDB before it is
// sent, so that it is made once, whatever happens to this page or the connection.
//
// The states of a record: "open" (sent, the answer is not known), "waiting" (to be sent),
// "done" (kept for seven days, in case the server is restored from a backup), and "refused"
// (shown until a person removes it). A kill of the page leaves the record in the state that
// it had before. Sending it again is safe in each of them.
import { NoAnswer, Refusal, call, endSession, isAway, serverNow, session, slow } from "./api.js";
import { all, keep, put, remove, uuid } from "./records.js";

const week = 7 * 24 * 3600_000; // in milliseconds

let changed = () => {};
export const onChange = (f) => (changed = f);

// meet asks the server what this till is, and calls setTill and seeRestore with the answer.
let meet = async () => {};
export const onMeet = (f) => (meet = f);

let demandsStaff = false; // a session, or the PIN of the location
let demandsSession = false; // a session, which no PIN replaces
let shop = "";
export const setTill = (me) => {
  demandsSession = !!me?.location.require_staff;
  demandsStaff = demandsSession || !!me?.location.require_staff_pin;
  shop = me?.shop.id || "";
};

// blocked says why what waits is not sent: "", "connection", or the code of a refusal.
export let blocked = "";

// obstacle returns the same as an error.
export const obstacle = (reason = blocked) => (reason === "connection" ? new NoAnswer() : new Refusal(0, { code: reason }));

// settled is called with a record, and the Refusal if it was refused, when the answer comes that a
// person has no longer waited for.
let settled = () => {};
export const onSettled = (f) => (settled = f);

const pending = new Map(); // the records that are not done, by reference
const inFlight = new Set(); // the references of those that a person waits for

let last = 0; // the greatest number of a record
const nextSeq = () => (last = Math.max(Date.now(), last + 1));

// canSend reports whether a write would not be refused for want of a member of staff.
const canSend = () => !demandsStaff || session.token || (session.pin && !demandsSession);

// write makes a write and returns { answer, reference }, or { queued: true, reference } for a
// stamp that waits for the connection. It throws a Refusal, or NoAnswer, with the record if it is
// not known whether the write was made. What waits is sent before, so that the order is kept. The
// record has the fields of more, too.
export async function write(kind, path, body, label, more) {
  const record = { reference: uuid(), seq: nextSeq(), kind, shop, path, body, label, ...more, at: serverNow(), state: "open" };
  inFlight.add(record.reference);
  try {
    await store(record);
    const reason = await obstacleBefore();
    if (!reason) return await attempt(record, true);
    if (kind === "stamp" && (reason === "connection" || reason === "rate_limited")) return await queue(record);
    await discard(record);
    throw obstacle(reason);
  } finally {
    inFlight.delete(record.reference);
  }
}

// store stores a record that is not done.
async function store(record) {
  pending.set(record.reference, record);
  await put(record);
}

// obstacleBefore returns why a write cannot be made now, or "". It has what waits sent, and gives
// up if that takes so long that the answer of the write would come too late.
async function obstacleBefore() {
  if (isAway()) return "connection";
  if (!waiting().length) return "";
  const late = new Promise((resolve) => setTimeout(resolve, slow, "connection"));
  return Promise.race([flush().then(() => blocked), late]);
}

// early are the refusals that the server gives before it looks whether it knows the
// reference. They say nothing of an earlier attempt.
const early = ["unauthenticated", "unauthorized", "rate_limited", "internal_error", "gone"];

async function attempt(record, first) {
  try {
    return { answer: await send(record, { late: true, insist: !first }), reference: record.reference };
  } catch (error) {
    if (error instanceof Refusal && (first || !early.includes(error.code))) await discard(record);
    if (!(error instanceof NoAnswer)) throw error;
    error.late?.then((answer) => settle(record, answer)).catch((late) => late instanceof Refusal && settle(record, undefined, late));
    if (record.kind === "stamp") return queue(record);
    error.record = record;
    changed();
    throw error;
  }
}

// again sends a record whose answer is not known.
export const again = (record) => attempt(record, false);

// settle notes the answer to a record that came late, unless the record was sent again meanwhile.
async function settle(record, answer, refusal) {
  if (!pending.has(record.reference) || record.state === "refused") return;
  if (answer) done(record, answer);
  else if (early.includes(refusal.code) || stopping.includes(refusal.code)) return;
  else if (record.kind === "stamp") await refuse(record, refusal.code);
  else await discard(record);
  settled(record, answer, refusal);
}

async function queue(record) {
  record.state = "waiting";
  await store(record);
  keep();
  blocked ||= "connection";
  changed();
  return { queued: true, reference: record.reference };
}

// refuse lists a record as refused.
async function refuse(record, code) {
  record.state = "refused";
  record.code = code;
  await store(record);
  changed();
}

// send sends a record and keeps it as done.
async function send(record, options) {
  const body = { ...record.body, client_reference: record.reference };
  if (record.state === "waiting" && record.kind === "stamp") body.occurred_at = new Date(record.at).toISOString();
  return done(record, await call("POST", record.path, body, options));
}

// done keeps a record with an answer as done. Nobody waits until it is stored: until then it is
// a record that is sent again, which is safe.
function done(record, answer) {
  if (!answer?.transaction && !answer?.id) throw new NoAnswer(); // of something else than the server
  record.state = "done";
  pending.delete(record.reference);
  put(record);
  changed();
  return answer;
}

// isForeign reports whether a record is of another shop than that of this till.
export const isForeign = (record) => !!(record.shop && shop && record.shop !== shop);

export const waiting = () => inOrder().filter((r) => r.state === "waiting" && !isForeign(r));
export const listed = () => inOrder().filter((r) => !inFlight.has(r.reference));
export const isPending = (reference) => pending.has(reference);
const inOrder = () => [...pending.values()].sort((a, b) => a.seq - b.seq);

// discard forgets a record that was refused, or that a person gives up.
export async function discard(record) {
  pending.delete(record.reference);
  await remove(record.reference);
  changed();
}

let flushing;

// flush sends what waits, in order, and returns how many records were { sent, refused }. blocked
// then says why some still wait.
export function flush() {
  flushing ??= sendWaiting().finally(() => (flushing = undefined));
  return flushing;
}

// stopping are the refusals that concern all writes of this till, not the one that was sent. A shop that is gone has moved: its host may
// lead to the new server soon, which then takes what waits.
const stopping = ["unauthenticated", "unauthorized", "invalid_credentials", "rate_limited", "subscription_suspended", "location_disabled", "gone"];

// sendWaiting first has seeRestore called, since what a restored server has lost is older
// than what waits.
async function sendWaiting() {
  const counts = { sent: 0, refused: 0 };
  const stop = (reason) => {
    blocked = reason;
    changed();
    return counts;
  };
  if (!waiting().length) return stop("");
  try {
    await meet();
  } catch (error) {
    return stop(error instanceof Refusal ? error.code : "connection");
  }
  for (let list = waiting(); list.length; list = waiting()) {
    for (const record of list) {
      const reason = record.state === "waiting" && (await deliver(record));
      if (reason) return stop(reason);
      if (record.state === "done") counts.sent++;
      else if (record.state === "refused") counts.refused++;
    }
  }
  return stop("");
}

// deliver sends a record that waits, and returns why it goes on waiting, or "".
async function deliver(record) {
  if (!canSend()) return "invalid_credentials";
  const used = session.token || session.pin;
  try {
    await send(record, { background: true });
    return "";
  } catch (error) {
    if (record.state !== "waiting") return ""; // the answer to an earlier attempt came meanwhile
    if (!(error instanceof Refusal)) return "connection";
    if (error.code === "invalid_credentials") {
      if (!used) demandsStaff = true;
      else if (used === (session.token || session.pin)) endSession(); // a wrong PIN must not be sent again and again
      changed();
      return deliver(record);
    }
    if (stopping.includes(error.code)) return error.code;
    await refuse(record, error.code);
    return "";
  }
}

// start takes up what an earlier page left: a stamp without an answer is sent again.
export async function start() {
  for (const record of await all()) {
    last = Math.max(last, record.seq);
    if (record.state === "done") continue;
    pending.set(record.reference, record);
    if (record.state === "open" && record.kind === "stamp") await queue(record);
  }
  await tidy();
  changed();
}

// tidy removes what is no longer needed, and takes up what another page of this till has left.
export async function tidy() {
  for (const record of await all()) {
    if (record.state === "done" && record.at < serverNow() - week) await remove(record.reference);
    if ((record.state === "waiting" || record.state === "refused") && !pending.has(record.reference)) pending.set(record.reference, record);
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
        await store(record);
      }
    }
  }
  localStorage.setItem("till-restore", id);
}
