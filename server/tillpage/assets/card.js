// What the page shows of a card, and which actions it offers.
import { button, date, h, icon, money, note, t } from "./dom.js";

// isStamps reports whether a program gives stamps.
export const isStamps = (program) => program.type === "standard" || program.type === "private";

// redeemable returns the prizes that can be redeemed, with the card that each is of.
export function redeemable({ card, prizes, earlier_cards: earlier, program }) {
  const top = Math.max(0, ...prizes.map((p) => p.threshold));
  const list = [];
  for (const c of [...earlier.map((e) => [e, e.prizes]), [card, prizes]]) {
    for (const prize of c[1]) {
      if (!prize.available || list.some((x) => x.prize.id === prize.id)) continue;
      list.push({ prize, completes: prize.threshold === top && c[0].stamps_count >= program.total_stamps });
    }
  }
  return list;
}

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

// face returns the card as it is shown.
export function face(lookup) {
  const { card, program, prizes } = lookup;
  const el = h(
    "article.pass",
    { "data-vars": true },
    h("header", null, h("h2", { id: "card-title", tabindex: "-1" }, h("bdi", null, program.name)), card.holder_name && h("p.holder", null, h("bdi", null, card.holder_name))),
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

// ladder returns the list of prizes. Whether one is ready is said by a word and an icon.
function ladder({ card, prizes, program }) {
  const state = (p) => {
    if (p.claimed) return ["check", t("Redeemed")];
    if (p.available) return ["prize", t("Ready")];
    const missing = p.threshold - card.stamps_count;
    return ["lock", missing > 0 ? t("{0} more|{0} more", missing) : t("Another one was chosen")];
  };
  return h(
    "ul.ladder",
    { "aria-label": t("Prizes") },
    prizes.map((p) => {
      const [sign, word] = state(p);
      return h(p.available ? "li.ready" : "li", null, icon(sign), h("span", null, h("bdi", null, p.name), isStamps(program) && h("small", null, t("at {0}", p.threshold))), h("b", null, word));
    }),
  );
}

// actions returns the buttons of a card. The first one is the likely action; large is how it
// looks.
export function actions(lookup, me, act, large) {
  const why = obstacle(lookup, me);
  if (why) return [note("bad", why)];
  const { card, program } = lookup;
  const prizes = redeemable(lookup);
  const redeem = (kind) => button(prizes.length === 1 ? t("Redeem: {0}", prizes[0].prize.name) : t("Redeem a prize ({0})", prizes.length), () => act.redeem(prizes), { kind, iconName: "prize" });
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
  if (free === 0) return prizes.length ? [redeem(large === "big" ? "big.prize" : large)] : [note("info", t("This card is full and complete. Issue a new one."))];
  return [...stamping(free, act, large), prizes.length > 0 && redeem("big.prize")];
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
