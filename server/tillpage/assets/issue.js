// Issuing a card, giving a printed one its holder, and connecting a card with the code of an earlier one.
import { NoAnswer, call } from "./api.js";
import { askCard, confirmCard, putCode, sentenceOfCode } from "./connect.js";
import { button, money, t } from "./dom.js";
import { soundRefusal, soundSuccess } from "./feedback.js";
import { clearMessages, show } from "./messages.js";
import { askCustomer, askNewCard, showInstallCode } from "./newcard.js";
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

  // name gives the card that is shown its holder.
  const name = () => askHolder(till.lookup.program, till.path("holder"));

  // askHolder asks for the holder of a card. refused is what it has sent before, with the faults that the server has found.
  async function askHolder(program, to, refused) {
    const fields = await askCustomer(program, t("Save"), refused);
    if (fields && Object.keys(fields).length) await putHolder(program, to, fields);
  }

  // putHolder gives a card its holder and says what came of it. It asks again for what the server does not accept. A
  // repetition changes nothing.
  async function putHolder(program, to, fields, options) {
    const faults = await till.alone(async () => {
      try {
        if (!(await till.signedIn(() => call("POST", to, fields, options)))) return undefined;
        soundSuccess();
        show("good", t("The customer was saved."));
        if (till.lookup) await till.load().catch(() => {});
      } catch (error) {
        soundRefusal();
        if (error.details?.length) return error.details;
        const again = button(t("Ask again"), () => putHolder(program, to, fields, { insist: true }), { iconName: "refresh" });
        if (error instanceof NoAnswer) return show("bad", noAnswer(), { more: [again] });
        show("bad", error.code === "conflict" ? t("The card has a customer already. A manager can change that in the dashboard.") : sentenceOf(error.code));
      }
      return undefined;
    });
    if (!faults?.length) return;
    clearMessages();
    await askHolder(program, to, { fields, faults });
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

  return { issue, name, handOver, connect };
}
