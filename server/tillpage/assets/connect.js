// The codes of earlier plastic cards: connecting one with a card, and what such a code may not do alone.
import { NoAnswer, call, session } from "./api.js";
import { ask, button, confirm, h, note, t } from "./dom.js";
import { codeForm } from "./find.js";
import { noAnswer, sentenceOf } from "./refusals.js";
import { signIn } from "./staff.js";

// isConnectable reports whether a text can be the code of an earlier card.
export const isConnectable = (text) => /^[\x20-\x7e]{1,64}$/.test(text.trim());

// askCard asks with which card a code is to be connected. It returns { issue: true }, { search: true },
// or the code of the card as { code }; undefined if the person closes the dialog.
export const askCard = (foreign, canSearch) =>
  ask(t("Connect with a card"), (close) =>
    h(
      "div.stack",
      null,
      h("p", null, t("From then on the code {0} finds the card of the customer.", foreign)),
      canSearch && button(t("Search for the customer"), () => close({ search: true }), { kind: "primary.huge", iconName: "search", autofocus: true }),
      button(t("Issue a new card"), () => close({ issue: true }), { kind: canSearch ? "big" : "primary.huge", iconName: "plus", autofocus: !canSearch }),
      codeForm((code) => close({ code }), "connect-code", t("Or the code of the customer’s card")),
    ),
  );

// confirmCard asks whether the card that is shown is the right one, since a till cannot take a code
// from a card again.
export const confirmCard = (foreign, { card, program }) =>
  confirm(t("Connect with this card?"), [h("b.whose", { dir: "auto" }, card.holder_name || t("No name")), program.name, t("A manager can disconnect the code {0} in the dashboard.", foreign)], t("Connect"));

// putCode gives a card the code. A repetition changes nothing.
export const putCode = (card, foreign, options) => call("POST", "/cards/" + encodeURIComponent(card) + "/codes", { code: foreign }, options);

// sentenceOfCode says why a card did not get the code. A conflict is that another card has it, or that
// the card has as many as it may.
export async function sentenceOfCode(error, foreign) {
  if (error instanceof NoAnswer) return noAnswer();
  if (error.code !== "conflict") return sentenceOf(error.code);
  try {
    await call("GET", "/cards/" + encodeURIComponent(foreign));
  } catch (unknown) {
    if (unknown.code === "not_found") return t("The card has five codes of earlier cards, and takes no more. Issue a new card for this one, or ask a manager.");
  }
  return t("Another card has the code {0}. Scan it again to see which one.", foreign);
}

export const notByCode = () => t("The code of an earlier card gives no prize and no money here, since anybody can print one. Use the customer’s own card, or ask a manager for a PIN of this location.");

// isTrusted reports whether the code that named the card is its own, somebody is signed in, or the location has a PIN.
export const isTrusted = (lookup, me) => !lookup.foreign_code || !!session.token || !!me?.location.require_staff_pin;

// maySpend reports whether a prize or money may go out by the code that named the card. By that of an
// earlier card it needs somebody who is signed in, or the PIN of the location.
export async function maySpend(lookup, me) {
  if (isTrusted(lookup, me)) return true;
  if (me?.staff?.length) return signIn(me, t("Sign in to give a prize or money by the code of an earlier card."));
  await ask(t("An earlier card’s code is not enough"), () => note("bad", notByCode()));
  return false;
}

// holderQuestion returns what is asked before that: whether the holder is there. It is empty for the
// card's own code.
export function holderQuestion({ card, foreign_code: foreign }) {
  if (!foreign) return [];
  if (!card.holder_name) return [t("The card has no name, and the code of an earlier card is easily copied. Go on only if you know the customer.")];
  return [h("b.whose", { dir: "auto" }, card.holder_name), t("The code of an earlier card is easily copied. Ask for the name, and go on only if it is this one.")];
}
