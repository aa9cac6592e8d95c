// Issuing a card, giving a printed one its holder, and connecting a card with the code of an earlier one.
import { NoAnswer, call } from "./api.js";
import { askCard, confirmCard, putCode, sentenceOfCode } from "./connect.js";
import { button, money, t } from "./dom.js";
import { soundRefusal, soundSuccess } from "./feedback.js";
import { clearMessages, show } from "./messages.js";
import { askCustomer, askNewCard, showInstallCode } from "./newcard.js";
import { uuid } from "./records.js";
import { noAnswer, sentenceOf } from "./refusals.js";

// issuing returns what the page does then. till is the page.
export function issuing(till) {
  // issue issues a card, and connects it with the code of an earlier one if connect is given. It asks
  // again for what the server does not accept.
  async function issue({ connect } = {}) {
    const programs = (till.me?.programs || []).filter((p) => p.active);
    if (!programs.length) return show("bad", t("No program of this location is published. Ask a manager."));
    for (let refused; ; ) {
      const asked = await askNewCard(programs, refused);
      if (!asked) return;
      const { program, fields } = asked;
      const said = () => (fields.amount_cents ? t("The card was issued with {0}.", money(fields.amount_cents)) : t("The card was issued."));
      const done = await till.perform("issue", "/programs/" + encodeURIComponent(program.id) + "/cards", fields, t("New card · {0}", fields.holder_name || program.name), said, { reversible: false, more: { connect } });
      if (done?.answer) await handOver(done.answer, connect);
      if (!done?.error?.details?.length) return;
      clearMessages();
      refused = { program, fields, faults: done.error.details };
    }
  }

  // handOver connects a card that was issued with the code of an earlier one, if there is one. Then it
  // shows the QR code of the card, and the card.
  async function handOver(issued, connect) {
    if (connect) await connectCard(issued.held_code, connect);
    await showInstallCode(issued);
    await till.openCard(issued.id, { issued });
  }

  let named; // the id of the card that was found last to have a holder

  // isNamed reports whether a card has a holder of whom the server may show nothing, such as a phone number alone.
  const isNamed = (card) => card.id === named;

  // name gives the card that is shown its holder.
  const name = () => askHolder(till.lookup, till.path("holder"), { fields: {}, faults: [] });

  // askHolder asks for the holder of a card. refused is what was sent before, with the faults that the server has found.
  async function askHolder(lookup, to, refused) {
    const fields = await askCustomer(t("Enter the customer"), t("Save"), refused);
    if (fields && Object.keys(fields).length) await putHolder(lookup, to, fields);
  }

  // putHolder gives a card its holder and says what came of it. It asks again for what the server does not accept.
  async function putHolder(lookup, to, fields, options = { key: uuid() }) {
    till.shieldActions(); // the second tap on the button of the dialog is not for what was below it
    const faults = await till.alone(async () => {
      try {
        if (!(await till.signedIn(() => call("POST", to, fields, options)))) return undefined;
        soundSuccess();
        show("good", t("The customer was saved."));
      } catch (error) {
        soundRefusal();
        if (error.details?.length) return error.details;
        const again = button(t("Ask again"), () => putHolder(lookup, to, fields, { ...options, insist: true }), { iconName: "refresh" });
        if (error instanceof NoAnswer) return show("bad", noAnswer(), { more: [again] });
        if (error.code !== "conflict") return show("bad", sentenceOf(error.code));
        show("bad", t("The card has a customer already. A manager can change that in the dashboard."));
      }
      named = lookup.card.id;
      if (till.lookup) await till.load().then(till.shieldActions, () => {});
      return undefined;
    });
    if (!faults?.length) return;
    clearMessages();
    await askHolder(lookup, to, { fields, faults });
  }

  // connect asks for a card and connects it with the code of an earlier one.
  async function connect(foreign) {
    const chosen = await askCard(foreign, !!till.me?.staff?.length);
    if (chosen?.issue) return issue({ connect: foreign });
    const found = chosen?.search ? await till.findCard() : chosen?.code;
    if (!found) return;
    await till.openCard(found);
    if (till.lookup && (await confirmCard(foreign, till.lookup))) await connectCard(till.lookup.held_code || found, foreign);
  }

  // connectCard connects a card and says what came of it.
  const connectCard = (card, foreign, options) =>
    till.alone(async () => {
      try {
        if (!(await till.signedIn(() => putCode(card, foreign, options)))) return;
        soundSuccess();
        show("good", t("The code {0} finds this card from now on.", foreign));
      } catch (error) {
        soundRefusal();
        const again = button(t("Ask again"), () => connectCard(card, foreign, { insist: true }), { iconName: "refresh" });
        show("bad", await sentenceOfCode(error, foreign), { more: error instanceof NoAnswer ? [again] : [] });
      }
    });

  return { issue, name, isNamed, handOver, connect };
}
