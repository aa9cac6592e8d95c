// Pairing this device with the shop, and unpairing it.
import { NoAnswer, request } from "./api.js";
import { confirm, h, icon, note, t } from "./dom.js";
import { soundRefusal } from "./feedback.js";
import { noAnswer, sentenceOf } from "./refusals.js";
import { signOut } from "./staff.js";

// pairingForm returns the form that takes a pairing code. After a valid one the page is loaded again.
export function pairingForm() {
  const problem = h("div", { role: "alert" });
  const input = h("input", { id: "pairing", autocomplete: "off", autocapitalize: "characters", spellcheck: "false", maxlength: 20, required: true });
  const pair = async (e) => {
    e.preventDefault();
    try {
      await request("POST", "/till/pair", { "Content-Type": "application/json" }, { code: input.value.trim() });
      location.reload();
    } catch (error) {
      soundRefusal();
      problem.replaceChildren(note("bad", error instanceof NoAnswer ? noAnswer() : error.code === "rate_limited" ? sentenceOf(error.code) : t("This code is not valid, was used, or is older than ten minutes. Ask for a new one.")));
    }
  };
  return h(
    "form.card.pairing",
    { onsubmit: pair },
    h("h2", null, t("Pair this device with the shop")),
    h("p", null, t("A manager makes a code in the dashboard, under Tills. Enter it here, or scan the QR code that is shown there.")),
    problem,
    h("label", { for: "pairing" }, t("Pairing code")),
    input,
    h("button.button.primary.huge", { type: "submit" }, icon("till"), h("span", null, t("Pair"))),
  );
}

// unpair unpairs this device if the person agrees, and loads the page again.
export async function unpair() {
  if (!(await confirm(t("Unpair this device?"), t("It cannot stamp cards any more until it is paired again. What waits to be sent stays on it."), t("Unpair"), { kind: "danger" }))) return;
  await request("POST", "/till/unpair", { "Content-Type": "application/json" }, {}).catch(() => {});
  await signOut().catch(() => {});
  localStorage.removeItem("till-me");
  location.reload();
}
