// The page: what it shows, and what happens when a button is pressed.
import { NoAnswer, Refusal, call, connection, isAway, onConnection, session, slow } from "./api.js";
import { actsOf } from "./acts.js";
import * as cards from "./card.js";
import { isConnectable, isTrusted } from "./connect.js";
import { ask, button, h, icon, note, setCurrency, t } from "./dom.js";
import { keepAwake, mute, muted, soundRefusal, soundSuccess } from "./feedback.js";
import { finder, resumeCamera, search } from "./find.js";
import { tillHeader } from "./header.js";
import { nameOf, showHistory, showToday, showWaiting } from "./history.js";
import { issuing } from "./issue.js";
import { clearMessages, endMessage, hasMessage, messages, offersUndo, show } from "./messages.js";
import * as outbox from "./outbox.js";
import { pairingForm, unpair } from "./pairing.js";
import { setDemandsPurchase } from "./purchases.js";
import { noAnswer, sentenceOf } from "./refusals.js";
import { demandsSignIn, retrySignedIn, signIn, signOut } from "./staff.js";
import { listen } from "./wedge.js";

const root = document.getElementById("till");
const [header, drawOf] = tillHeader({ showUnsent: () => showWaiting(sendAgain), toggleStaff, showMenu });
const drawHeader = () => (endMessage(), drawOf(me));
const stage = h("section.stage", { "aria-label": t("Card") });
const find = finder(openCard, () => busy || isAsking() || (body.dataset.view === "card" && !(body.dataset.done && isWide())));
const body = h("div.till-body", { "data-view": "find" }, messages, find, stage);

let me; // GET /till/v1/me, also from before if the server cannot be reached
let code = ""; // of the card that is shown
let held; // what names it in writes if this till has just issued it: code is then its id
let fresh; // the id of the card that was shown last before it was ever presented, such as a printed one
let lookup; // what the server said of it; undefined: it could not be asked
let opening = 0;
let unread = false; // the server did not answer what the card is

// setView shows the view "find" or "card". done says that the action on the card is complete:
// only then may the camera of a tablet take the next card.
function setView(view, done = false) {
  body.dataset.view = view;
  body.dataset.done = done ? "1" : "";
}

// isWide reports whether both views are shown, beside each other.
const isWide = () => matchMedia("(min-width: 48rem)").matches;

// isAsking reports whether a code that is scanned now must not open a card: a dialog asks about
// the card that is shown, or the page is not shown.
const isAsking = () => !body.isConnected || !!document.querySelector("dialog[open]");

async function toggleStaff() {
  if (session.token || session.pin) {
    await signOut();
    show("info", t("Signed out."));
  } else if (await signIn(me)) {
    show("info", session.staff ? t("{0} is at the till.", session.staff.name) : t("Signed in."));
    resend();
  }
  drawHeader();
}

async function showMenu() {
  const act = await ask(t("Menu"), (close) => {
    const entry = (label, iconName, does, kind = "big") => button(label, () => close(does), { kind, iconName });
    return h(
      "div.stack.menu-list",
      null,
      entry(t("Issue a new card"), "plus", issue),
      me?.staff?.length ? entry(t("Search for a card"), "search", searchCard) : null,
      entry(t("Last entries"), "undo", () => showHistory(undo)),
      entry(t("Today"), "report", showToday),
      entry(t("Not sent yet"), "send", () => showWaiting(sendAgain)),
      entry(muted() ? t("Switch sound on") : t("Switch sound off"), "info", () => mute(!muted())),
      entry(t("Unpair this device"), "close", unpair, "big.quiet"),
    );
  });
  act?.();
}

function refuse(error) {
  soundRefusal();
  if (error instanceof Refusal && error.code === "unauthenticated") return showPairing();
  if (error instanceof Refusal) return show("bad", sentenceOf(error.code));
  if (!(error instanceof NoAnswer)) throw error;
  const record = error.record;
  if (!record) return show("bad", noAnswer(), { until: isAway() ? () => !isAway() : undefined });
  show("bad", t("The server did not answer, so it is not known whether this was done. Ask again: it is never done twice."), {
    more: [button(t("Ask again"), () => sendAgain(record), { iconName: "refresh" })],
    until: () => !outbox.isPending(record.reference),
  });
}

// Cards.

// openCard shows the card of a code. Of a card that this till has just issued, issued is the answer:
// what was said stays, and on a tablet the next card may take its place at once. While the server
// takes long a stamp can be given to a card whose code is known. again: that is offered already.
async function openCard(text, { issued, again: offered = false } = {}) {
  const mine = ++opening;
  const stampable = !issued && !isHandle(text);
  unread = false;
  if (!offered) {
    if (!issued) clearMessages();
    code = text;
    held = issued?.held_code;
    lookup = undefined;
    setView("card");
    stage.setAttribute("aria-busy", "true");
    stage.replaceChildren(h("p.soft", null, t("Looking the card up …")), next());
  }
  const offer = setTimeout(() => {
    if (offered || !stampable || mine !== opening) return;
    offered = true;
    drawStamping(t("The server takes long. A stamp can be given now; the card is shown as soon as the server answers."));
  }, slow);
  try {
    await load(mine);
    if (mine !== opening) return;
    if (issued) setView("card", true);
    if (offered) shieldActions();
  } catch (error) {
    if (mine !== opening) return;
    unread = error instanceof NoAnswer && stampable;
    if (unread) return drawStamping(t("The server does not answer. A stamp is kept and sent later; everything else has to wait."));
    code = "";
    drawEmpty();
    setView("find");
    refuse(error);
    if (error.code === "not_found" && stampable && isConnectable(text)) show("bad", sentenceOf("not_found"), { more: [button(t("Connect with a card"), () => connect(text.trim()), { iconName: "card" })] });
  } finally {
    clearTimeout(offer);
    stage.removeAttribute("aria-busy");
  }
}

// shieldActions has no action take the press that was meant for what was at its place.
function shieldActions() {
  const act = stage.querySelector(".act");
  act.inert = true; // which takes the focus from it
  setTimeout(() => {
    act.inert = false;
    if (document.activeElement?.contains(act)) act.querySelector(".huge")?.focus({ preventScroll: true });
  }, 500);
}

// isHandle reports whether a text stands for a card that was found by a search. A handle ends
// soon, so a write that is sent later cannot name the card by it.
const isHandle = (text) => text.startsWith("hdl_");

// load reads the card again, and draws it unless another one was opened meanwhile.
async function load(mine = ++opening, written = false) {
  const found = await call("GET", "/cards/" + encodeURIComponent(code));
  if (mine !== opening) return;
  lookup = found;
  draw(written);
}

// next returns the button that goes back to finding a card. What can still be undone stays
// above it.
function next(kind = "big.quiet") {
  const go = () => {
    if (!offersUndo()) clearMessages();
    close();
  };
  return button(t("Next card"), go, { kind, iconName: "back" });
}

function close() {
  opening++;
  code = "";
  unread = false;
  lookup = undefined;
  setView("find");
  drawEmpty();
  document.getElementById("find-title").scrollIntoView?.({ block: "nearest" });
}

// draw draws the card. After a write the likely action is the next card: its button takes the
// place of the one that was pressed, so that a second tap does not write again.
function draw(written) {
  setView("card", written);
  const actions = cards.actions(lookup, me, acts, written ? "big" : "primary.huge");
  if (lookup.card.status === "invited") fresh = lookup.card.id;
  if (lookup.card.id === fresh && cards.isUnnamed(lookup) && !isNamed(lookup.card) && isTrusted(lookup, me) && !cards.obstacle(lookup, me)) actions.push(button(t("Enter the customer"), name, { kind: "big", iconName: "user" }));
  stage.replaceChildren(cards.face(lookup), h("div.act", null, written ? [next("primary.huge"), ...actions] : [...actions, next()]));
  (stage.querySelector(".huge") || stage.querySelector("h2")).focus({ preventScroll: true });
}

// drawStamping offers what works without a look-up: stamps. Where they are offered already, it
// changes only why.
function drawStamping(why) {
  stage.removeAttribute("aria-busy");
  const shown = stage.querySelector("[data-unread] .note");
  if (shown) return shown.replaceWith(note("warn", why));
  stage.replaceChildren(
    h("article.pass", { "data-unread": true }, h("h2", null, h("code", null, code)), note("warn", why)),
    h("div.act", null, cards.stamping(10, acts, "primary.huge"), next()),
  );
  stage.querySelector(".huge").focus({ preventScroll: true });
}

let drawnEmpty; // what the empty stage offers

function drawEmpty() {
  const offers = String(!!me?.staff?.length);
  if (stage.firstElementChild?.matches(".empty") && offers === drawnEmpty) return;
  drawnEmpty = offers;
  stage.replaceChildren(
    h("div.empty", null, icon("qr"), h("p", null, t("Scan a card, or type the code that is below its QR code."))),
    h("div.act", null, button(t("Issue a new card"), () => issue(), { kind: "big", iconName: "plus" }), me?.staff?.length ? button(t("Search for a card"), searchCard, { kind: "big", iconName: "search" }) : null, button(t("Last entries"), () => showHistory(undo), { kind: "big", iconName: "undo" }), button(t("Today"), showToday, { kind: "big", iconName: "report" })),
  );
}

// Actions.

let busy = false;
let performed; // the promise of the last write, which is settled when what came of it is shown
let scanned = ""; // meanwhile; it is opened if what was done is not refused

// perform makes a write once and says what came of it. said(answer) is the sentence of a
// success. While another write is made it does nothing: the button for it is about to change.
const perform = (...args) => (busy ? undefined : alone(() => make(...args)));

// alone calls act, which says itself what goes wrong, when no other write is made.
async function alone(act) {
  while (busy) await performed;
  busy = true;
  performed = act().finally(() => {
    busy = false;
    drawHeader();
    if (scanned) openCard(scanned);
    scanned = "";
  });
  return performed;
}

// signedIn makes a write. It asks for a member of staff where one is demanded, and returns nothing if
// nobody signs in.
const signedIn = async (write, demanded = demandsSignIn(me)) => (!demanded || (await signIn(me)) ? retrySignedIn(me, () => sending(write())) : undefined);

async function make(kind, path, fields, label, said, { reversible = true, more } = {}) {
  try {
    const offline = kind === "stamp" && (!lookup || isAway());
    if (kind === "stamp" && !lookup) opening++; // a look-up that is under way must not change what is shown meanwhile
    const done = await signedIn(() => outbox.write(kind, path, fields, label, more), !offline && demandsSignIn(me));
    if (!done) return;
    soundSuccess();
    if (done.queued) {
      show("warn", t("The server does not answer. The stamp is kept on this device and sent later."), { until: () => !outbox.isPending(done.reference) || outbox.blocked === "invalid_credentials" });
      close();
      return done;
    }
    const row = reversible && done.answer.transaction;
    show("good", said(done.answer), { undo: row && (() => undo(row)) });
    if (code && kind !== "issue") await sending(load(++opening, kind !== "reversal")).catch(() => close());
    return done;
  } catch (error) {
    scanned = "";
    refuse(error);
    if (error.code === "spend_not_enabled") setDemandsPurchase(lookup?.program.id, false);
    return { error };
  }
}

// sending shows that a write is on its way until its promise is settled.
function sending(promise) {
  body.setAttribute("aria-busy", "true");
  return promise.finally(() => body.removeAttribute("aria-busy"));
}

// path returns the path of an action on the card that is shown. It is taken before a question
// is asked about that card. A card that was found by a search has a held code, which is longer
// valid than its handle.
const path = (action) => "/cards/" + encodeURIComponent(lookup?.held_code || held || code) + "/" + action;
const owner = () => lookup?.card.holder_name || lookup?.program.name || code;

async function undo(row) {
  while (busy) await performed;
  clearMessages();
  // The reference names the row also if it was made again after a restore of the server.
  await perform("reversal", "/transactions/" + encodeURIComponent(row.client_reference || row.id) + "/reversal", {}, t("Undo: {0}", nameOf(row)), () => t("Undone: {0}.", nameOf(row)), { reversible: false });
}

// till is the page, for the modules of what it does.
const till = {
  get me() {
    return me;
  },
  get lookup() {
    return lookup;
  },
  ...{ path, owner, openCard, load, findCard, perform, alone, signedIn, shieldActions },
};
const acts = actsOf(till);
const { issue, name, isNamed, handOver, connect } = issuing(till);

async function findCard() {
  if (!session.token && !(await signIn(me))) return undefined;
  drawHeader();
  return search();
}

async function searchCard() {
  const handle = await findCard();
  if (handle) openCard(handle);
}

async function sendAgain(record) {
  show("info", t("Sending …"));
  if (record) {
    try {
      const { answer } = await outbox.again(record);
      soundSuccess();
      show("good", t("Done: {0}.", record.label));
      if (record.kind === "issue") await handOver(answer, record.connect);
      else if (code) await load().catch(() => {});
    } catch (error) {
      refuse(error);
    }
    return;
  }
  if (outbox.blocked === "invalid_credentials" && !(await signIn(me))) return clearMessages();
  const counts = await outbox.flush();
  if (outbox.blocked) refuse(outbox.obstacle());
  else tell(counts);
  drawHeader();
}

// tell says what came of sending what waited.
function tell({ sent, refused }) {
  if (!refused) return show("good", t("Everything was sent."));
  soundRefusal();
  show("bad", t("{0} sent, {1} refused.", sent, refused), { more: [button(t("Show what was refused"), () => showWaiting(sendAgain), { iconName: "send" })] });
}

// tellLate says what came of a write for whose answer nobody has waited.
function tellLate(record, answer, refusal) {
  if (refusal && record.kind !== "stamp") show("bad", record.label + ": " + sentenceOf(refusal.code));
  else if (refusal) tell({ sent: 0, refused: 1 });
  else if (record.kind === "issue" && !code && !isAsking()) handOver(answer, record.connect);
  else if (!offersUndo()) show("good", t("Done: {0}.", record.label));
}

// Pairing.

function showPairing() {
  me = undefined;
  drawHeader(); // first, as in showTill
  root.removeAttribute("aria-busy");
  root.replaceChildren(header, pairingForm());
}

// Start.

// meet asks the server what this till is. The answer is kept for the next start without a
// connection.
async function meet(options = { background: true }) {
  const answer = await call("GET", "/me", undefined, options);
  localStorage.setItem("till-me", JSON.stringify(answer));
  know(answer);
  await outbox.seeRestore(me.restore_id);
}

function know(answer) {
  me = answer;
  setCurrency(me?.shop.currency);
  outbox.setTill(me);
}

// resend sends what waits, and says what came of it unless something can be undone.
async function resend() {
  const counts = await outbox.flush();
  if (offersUndo()) return;
  if (counts.refused || (counts.sent && !outbox.blocked && !hasMessage())) tell(counts);
  const needSignIn = () => outbox.blocked === "invalid_credentials" && outbox.waiting().length;
  if (needSignIn() && !hasMessage()) show("warn", t("{0} entry waits until somebody signs in.|{0} entries wait until somebody signs in.", needSignIn()), { more: [button(t("Sign in and send"), () => sendAgain(), { iconName: "user" })], until: () => !needSignIn() });
}

let checking = false;

// check looks whether the server can be reached, was restored, or knows this till no longer,
// while the page is open for days.
async function check() {
  if (checking || !body.isConnected || document.hidden) return;
  checking = true;
  try {
    await meet();
    drawHeader();
    await resend();
  } catch (error) {
    if (error.code === "unauthenticated" && !busy) showPairing();
  } finally {
    checking = false;
  }
}

// connectionChanged shows what the connection is now, and reads the card again that could not be
// read before.
function connectionChanged() {
  drawHeader();
  if (unread && !busy && !isAway() && !isAsking()) openCard(code, { again: true });
}

// showTill shows the page, or what has changed of it.
function showTill() {
  if (!code) drawEmpty();
  drawHeader(); // first, since it moves what is below it
  if (!body.isConnected) root.replaceChildren(header, body);
  root.removeAttribute("aria-busy");
}

async function start() {
  onConnection(connectionChanged);
  outbox.onSettled(tellLate);
  outbox.onChange(drawHeader);
  outbox.onMeet(meet);
  know(JSON.parse(localStorage.getItem("till-me") || "null"));
  await outbox.start();
  addEventListener("online", check);
  document.addEventListener("visibilitychange", check);
  setInterval(() => outbox.waiting().length && resend(), 15_000);
  setInterval(() => connection !== "connected" && check(), 3000);
  setInterval(() => (outbox.tidy(), check()), 5 * 60_000);
  const known = !!me;
  if (known) showTill(); // the server may take long, or not answer
  if (known) resumeCamera();
  try {
    await meet({});
  } catch (error) {
    if (error.code === "unauthenticated") return showPairing();
  }
  showTill();
  if (!known) resumeCamera();
  resend();
}

listen((text) => (busy ? (scanned = text) : openCard(text)), isAsking);
keepAwake();
navigator.serviceWorker?.register("/till/sw.js").catch(() => {}); // private windows have none
start();
