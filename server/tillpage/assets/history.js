// The last rows of this till, and what waits to be sent.
import { call } from "./api.js";
import { ask, button, config, date, h, icon, money, note, t, when } from "./dom.js";
import * as outbox from "./outbox.js";
import { noAnswer, sentenceOf } from "./refusals.js";

// nameOf returns what a row of the ledger is, in words.
export function nameOf({ type, stamps_delta: stamps, value_delta: value, prize_name: prize }) {
  switch (type) {
    case "stamp":
      return t("{0} stamp|{0} stamps", stamps);
    case "redemption":
      return prize ? t("Redeemed: {0}", prize) : t("Prize redeemed");
    case "topup":
      return t("Top-up of {0}", money(value));
    case "spend":
      return t("Spent {0}", money(-value));
    case "reversal":
      return t("Undone");
    case "expiry":
      return t("Expired");
    case "adjustment":
      return t("Corrected");
    case "discount":
      return t("Discount used");
  }
  return t("Visit");
}

// isReversible reports whether a row may be undone.
const isReversible = (row) => !row.reversed_at && !["reversal", "expiry", "adjustment"].includes(row.type);

// loaded returns a list that shows what fill(answer) returns once the server has answered a GET of
// the path.
function loaded(path, fill) {
  const list = h("div.rows", { "aria-busy": "true" }, h("p.soft", null, t("Loading …")));
  const show = (...shown) => (list.removeAttribute("aria-busy"), list.replaceChildren(...shown));
  call("GET", path).then(
    (answer) => show(...fill(answer)),
    (error) => show(note("bad", error.code ? sentenceOf(error.code) : noAnswer())),
  );
  return list;
}

// showHistory shows the last 50 rows. undo(row) is called for the one to undo.
export const showHistory = (undo) =>
  ask(t("Last entries"), (close) => loaded("/transactions?limit=50", ({ data }) => (data.length ? data.map((row) => entry(row, close, undo)) : [h("p.soft", null, t("This till has made no entries yet."))])));

// showToday shows what this till did today.
export const showToday = () =>
  ask(t("Today"), () =>
    loaded("/today", (day) => {
      const figure = (label, text) => h("div.row-entry", null, h("dt", null, label), h("dd", null, text));
      const count = (label, n) => figure(label, n.toLocaleString(config.lang));
      const moved = day.topped_up_cents + day.issued_cents + day.spent_cents;
      return [
        h("p.soft", null, t("This till alone, on {0}. What was undone is left out.", date(day.date + "T12:00"))),
        h(
          "dl.rows",
          null,
          count(t("Stamps"), day.stamps),
          count(t("Prizes redeemed"), day.redemptions),
          day.uses > 0 && count(t("Visits and discounts"), day.uses),
          day.new_cards > 0 && count(t("New cards"), day.new_cards),
          moved > 0 && [figure(t("Topped up"), money(day.topped_up_cents)), figure(t("On new cards"), money(day.issued_cents)), figure(t("Spent from cards"), money(day.spent_cents))],
        ),
        ...(day.complete ? [] : [note("warn", t("There are more entries today than are counted here. The day report of the dashboard has them all."))]),
      ];
    }),
  );

function entry(row, close, undo) {
  const name = nameOf(row);
  const at = when(row.occurred_at || row.created_at);
  const more = [row.holder_name || row.program_name, at, row.staff?.name].filter(Boolean).join(" · ");
  return h(
    "div.row-entry",
    null,
    h("p", null, h("b", { dir: "auto" }, name), h("small", { dir: "auto" }, more)),
    row.reversed_at ? h("span.badge", null, t("Undone")) : isReversible(row) && button(t("Undo"), () => (close(), undo(row)), { iconName: "undo", "aria-label": t("Undo: {0}, {1}", name, at) }),
  );
}

// showWaiting lists what waits, what has no answer, and what was refused.
export function showWaiting(again) {
  return ask(t("Not sent yet"), (close) => {
    const list = h("div.rows");
    const fill = () => {
      const all = outbox.listed();
      list.replaceChildren(...(all.length ? all.map((r) => waitingEntry(r, close, again, fill)) : [h("p.soft", null, t("Nothing waits to be sent."))]), send);
      send.hidden = !all.some((r) => r.state === "waiting");
    };
    const send = button(t("Send now"), () => (close(), again()), { kind: "primary.big", iconName: "send" });
    fill();
    return list;
  });
}

function waitingEntry(record, close, again, fill) {
  const foreign = outbox.isForeign(record);
  const wait = foreign ? "unauthenticated" : outbox.blocked;
  const state = { waiting: wait && wait !== "connection" ? sentenceOf(wait) : t("Waits for the connection"), open: t("The server has not answered"), refused: record.code && sentenceOf(record.code) }[record.state];
  return h(
    "div.row-entry",
    null,
    h("p", null, h("b", null, record.state === "refused" && icon("bad"), record.label), h("small", null, when(record.at)), h("small", null, state)),
    record.state === "open" && button(t("Ask again"), () => (close(), again(record)), { iconName: "refresh" }),
    (record.state !== "waiting" || foreign) && button(t("Remove"), async () => (await outbox.discard(record), fill()), { "aria-label": t("Remove: {0}", record.label) }),
  );
}
