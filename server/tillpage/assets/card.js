// What the page shows of a card, and which actions it offers.
import { button, date, h, icon, money, note, t } from "./dom.js";

// isStamps reports whether a program gives stamps.
export const isStamps = (program) => program.type === "standard" || program.type === "private";

// due returns what can be redeemed on the cards of a chain, by threshold: the prizes among which
// the customer chooses, how many times (count), and whether the first time completes a card, whose other
// prizes are lost then.
export function due({ card, prizes, earlier_cards: earlier, program }) {
  const top = Math.max(0, ...prizes.map((p) => p.threshold));
  const list = new Map();
  for (const [c, ladder] of [...earlier.map((e) => [e, e.prizes]), [card, prizes]]) {
    const ready = ladder.filter((p) => p.available);
    for (const threshold of new Set(ready.map((p) => p.threshold))) {
      const first = { threshold, prizes: ready.filter((p) => p.threshold === threshold), count: 0, completes: threshold === top && c.stamps_count >= program.total_stamps, lost: ready.filter((p) => p.threshold !== threshold).map((p) => p.name) };
      if (!list.has(threshold)) list.set(threshold, first);
      list.get(threshold).count++;
    }
  }
  return [...list.values()].sort((a, b) => a.threshold - b.threshold);
}

// times returns a text with how many times it counts, if that is more than once.
export const times = (text, count) => (count > 1 ? text + " × " + count : text);

// room returns how many stamps the card still takes: with a repeating program those of the
// next card too.
export function room({ card, program }) {
  const free = Math.max(0, program.total_stamps - card.stamps_count);
  return Math.min(100, program.repeat_after_reset ? free + program.total_stamps : free);
}

// obstacle returns why nothing can be done with a card, or an empty text.
export function obstacle({ card, program }, me) {
  if (card.status === "archived") return t("This card is no longer in use. Issue a new one.");
  if (card.status === "expired") return t("This card has expired. Issue a new one.");
  if (card.status === "locked") return t("This card is locked at the moment. Ask a manager.");
  if (program.suspended_at) return t("The program is suspended. Ask a manager.");
  if (!card.all_locations && !card.locations.some((l) => l.id === me?.location.id)) return t("This card is not for this location. Ask the customer for another one.");
  return "";
}

// isUnnamed reports whether a card says of no holder.
export const isUnnamed = ({ card }) => !card.holder_name && !card.holder_email;

// face returns the card as it is shown.
export function face(lookup) {
  const { card, program, prizes } = lookup;
  const el = h(
    "article.pass",
    { "data-vars": true },
    h("header", null, h("h2", { id: "card-title", tabindex: "-1" }, h("bdi", null, program.name)), card.holder_name && h("p.holder", null, h("bdi", null, card.holder_name))),
    lookup.foreign_code && h("p.soft", null, t("Found by the code of an earlier card")),
    progress(lookup),
    card.expires_at && h("p.soft", null, t("Valid until {0}", date(card.expires_at))),
    prizes.length > 0 && ladder(lookup),
  );
  el.style.setProperty("--brand", program.brand_color_hex);
  return el;
}

function progress({ card, program, earlier_cards: earlier }) {
  if (isStamps(program)) {
    const total = program.total_stamps;
    const dots = total <= 30 && h("ol.dots", { "aria-hidden": "true" }, Array.from({ length: total }, (_, i) => h(i < card.stamps_count ? "li.on" : "li")));
    const full = earlier.filter((c) => c.stamps_count >= total).length;
    return h("div.progress", null, h("p.figure", null, t("{0} of {1} stamps", card.stamps_count, total)), dots, full > 0 && h("p.soft", null, t("and {0} full card before this one|and {0} full cards before this one", full)));
  }
  if (program.type === "prepaid") return h("p.figure", null, money(card.current_value));
  if (program.type === "discount") return h("p.figure", null, t("{0} % discount", program.discount_percent));
  return h("p.figure", null, t("Access card"));
}

// ladder returns the list of prizes. Whether one is ready, on this card or on an earlier one, is
// said by a word and an icon.
function ladder(lookup) {
  const { card, prizes, program } = lookup;
  const ready = due(lookup);
  const state = (p, count) => {
    if (count) return ["prize", t("Ready")];
    if (p.claimed) return ["check", t("Redeemed")];
    const missing = p.threshold - card.stamps_count;
    return ["lock", missing > 0 ? t("{0} more|{0} more", missing) : t("Another one was chosen")];
  };
  return h(
    "ul.ladder",
    { "aria-label": t("Prizes") },
    prizes.map((p) => {
      const count = ready.find((x) => x.threshold === p.threshold)?.count || 0;
      const [sign, word] = state(p, count);
      return h(count ? "li.ready" : "li", null, icon(sign), h("span", null, h("bdi", null, p.name), times("", count), isStamps(program) && h("small", null, t("at {0}", p.threshold))), h("b", null, word));
    }),
  );
}

// actions returns the buttons of a card. The first one is the likely action; large is how it
// looks.
export function actions(lookup, me, act, large) {
  const why = obstacle(lookup, me);
  if (why) return [note("bad", why)];
  const { card, program } = lookup;
  switch (program.type) {
    case "prepaid": {
      const spend = (kind) => button(t("Spend"), act.spend, { kind, iconName: "balance" });
      const topUp = (kind) => button(t("Top up"), act.topUp, { kind, iconName: "plus" });
      return card.current_value > 0 ? [spend(large), topUp("big")] : [topUp(large)];
    }
    case "discount":
      return [button(t("Use the discount"), act.use, { kind: large, iconName: "check" })];
    case "access":
      return [button(t("Record the visit"), act.use, { kind: large, iconName: "check" })];
  }
  const free = room(lookup);
  const ready = due(lookup);
  if (!ready.length) return free ? stamping(free, act, large) : [note("info", t("This card is full and complete. Issue a new one."))];
  const count = ready.reduce((sum, x) => sum + x.count, 0);
  const only = ready.length === 1 && ready[0].prizes.length === 1 ? ready[0].prizes[0].name : "";
  const label = !only ? t("Redeem a prize ({0})", count) : count > 1 ? t("Redeem 1 of {0}: {1}", count, only) : t("Redeem: {0}", only);
  const redeem = button(label, () => act.redeem(ready), { kind: large === "big" ? "big.prize" : large, iconName: "prize" });
  return [redeem, ...(free ? stamping(free, act, "big") : [])];
}

// stamping returns the button that gives stamps, with how many.
export function stamping(most, act, kind) {
  let count = 1;
  const label = h("span");
  const give = h("button.button." + kind, { type: "button", onclick: () => act.stamp(count) }, icon("stamp"), label);
  const less = h("button.step", { type: "button", "aria-label": t("One stamp less"), onclick: () => set(count - 1) }, "−");
  const more = h("button.step", { type: "button", "aria-label": t("One stamp more"), onclick: () => set(count + 1) }, "+");
  const set = (n) => {
    count = Math.min(most, Math.max(1, n));
    label.textContent = t("Give {0} stamp|Give {0} stamps", count);
    less.disabled = count === 1;
    more.disabled = count === most;
  };
  set(1);
  return [h("div.giving", null, less, give, more)];
}
