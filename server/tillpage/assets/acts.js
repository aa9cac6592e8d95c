// What can be done with the card that is shown.
import * as cards from "./card.js";
import { holderQuestion, maySpend, notByCode } from "./connect.js";
import { ask, button, confirm, h, money, t } from "./dom.js";
import { askAmount } from "./keypad.js";
import { show } from "./messages.js";
import { addPurchase, demandsPurchase, setDemandsPurchase } from "./purchases.js";

// actsOf returns the actions. till is the page: till.path is asked for the path before a question is
// asked about the card, since another one may be shown after it.
export const actsOf = (till) => ({
  async stamp(count) {
    const to = till.path("stamps");
    const fields = { count };
    const { lookup } = till;
    const label = t("{0} stamp|{0} stamps", count) + " · " + till.owner();
    if (lookup && demandsPurchase(lookup.program.id) && !(await addPurchase(fields))) return;
    const said = ({ card, overflow_card: over }) => t("{0} stamp given.|{0} stamps given.", count) + " " + (over ? t("The card is full, and a new one was begun.") : t("The card has {0} now.|The card has {0} now.", card.stamps_count));
    const done = await till.perform("stamp", to, fields, label, said);
    if (done?.error?.code !== "spend_required" || !till.lookup) return;
    setDemandsPurchase(till.lookup.program.id, true);
    if (await addPurchase(fields)) await till.perform("stamp", to, fields, label, said);
  },
  async redeem(ready) {
    const to = till.path("redemptions");
    const { lookup } = till;
    const one = ready.length === 1 && ready[0].prizes.length === 1 ? { ...ready[0], prize: ready[0].prizes[0] } : await choosePrize(ready);
    if (!one) return;
    const { prize, completes, lost } = one;
    const known = completes ? [t("This completes the card and cannot be undone afterwards.")] : [];
    if (completes && lost.length) known.push(t("Not redeemed yet, and lost then: {0}", lost.join(", ")));
    if (!(await maySpend(lookup, till.me)) || !(await agrees(lookup, t("Redeem {0}?", prize.name), known, t("Redeem")))) return;
    await giveOut(till, lookup, "redemption", to, { prize_id: prize.id }, prize.name + " · " + till.owner(), () => t("{0} was redeemed.", prize.name), { reversible: !completes });
  },
  async spend() {
    const to = till.path("spends");
    const { lookup } = till;
    if (!(await maySpend(lookup, till.me))) return;
    const cents = await askAmount(t("Spend"), t("Spend"), t("Balance: {0}", money(lookup.card.current_value)));
    if (!cents || !(await agrees(lookup, t("Spend {0}?", money(cents)), [], t("Spend")))) return;
    await giveOut(till, lookup, "spend", to, { amount_cents: cents }, t("Spent {0}", money(cents)) + " · " + till.owner(), ({ card }) => t("{0} was spent. {1} is left.", money(cents), money(card.current_value)));
  },
  async topUp() {
    const to = till.path("topups");
    const cents = await askAmount(t("Top up"), t("Top up"), t("Balance: {0}", money(till.lookup.card.current_value)));
    if (cents) await till.perform("topup", to, { amount_cents: cents }, t("Top-up of {0}", money(cents)) + " · " + till.owner(), ({ card }) => t("{0} was added. The balance is {1}.", money(cents), money(card.current_value)));
  },
  async use() {
    const { type } = till.lookup.program;
    await till.perform("use", till.path("uses"), {}, till.owner(), () => (type === "discount" ? t("The discount was recorded.") : t("The visit was recorded.")));
  },
});

// agrees asks whether the holder is there, and what else is to be known before a prize or money goes
// out. If there is nothing, nobody is asked.
async function agrees(lookup, title, known, agree) {
  const question = [...holderQuestion(lookup), ...known];
  return !question.length || confirm(title, question, agree);
}

// giveOut has the page perform what takes a prize or money from a card. The server may refuse it
// because of the code of an earlier card.
async function giveOut(till, lookup, ...args) {
  const done = await till.perform(...args);
  if (lookup.foreign_code && done?.error?.code === "unprocessable_entity") show("bad", notByCode());
}

// choosePrize asks for one of the prizes that due returned.
const choosePrize = (ready) =>
  ask(t("Which prize?"), (close) =>
    h(
      "div.stack",
      null,
      ready.map((x) => {
        const pick = (prize, label) => button(label, () => close({ ...x, prize }), { kind: "big", iconName: "prize" });
        const at = t("at {0}", x.threshold);
        if (x.prizes.length === 1) return h("div.names", null, pick(x.prizes[0], cards.times(x.prizes[0].name, x.count) + " · " + at));
        return h("div.names", null, h("p", null, t("One of these · {0}", cards.times(at, x.count))), x.prizes.map((p) => pick(p, p.name)));
      }),
    ),
  );
