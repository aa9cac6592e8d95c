// The dialogs about a new card.
import { ask, button, h, icon, t } from "./dom.js";

// askNewCard asks for the program, if there are several, and for the name of the customer, which
// may be empty. It returns both, undefined if the person closes a dialog.
export async function askNewCard(programs) {
  const program = programs.length === 1 ? programs[0] : await ask(t("Which program?"), (close) => h("div.names", null, programs.map((p) => button(p.name, () => close(p), { kind: "big", iconName: "card" }))));
  if (!program) return undefined;
  const name = await askName(program);
  return name === undefined ? undefined : { program, name };
}

const askName = (program) =>
  ask(program.name, (close) => {
    const input = h("input", { id: "holder", maxlength: 200, autocomplete: "off", enterkeyhint: "done" });
    return h(
      "form.stack",
      { onsubmit: (e) => (e.preventDefault(), close(input.value.trim())) },
      h("label", { for: "holder" }, t("Name of the customer, if wanted")),
      input,
      h("button.button.primary.huge", { type: "submit", autofocus: true }, icon("plus"), h("span", null, t("Issue the card"))),
    );
  });

// showInstallCode shows the QR code of a card that was issued until the person closes it.
export async function showInstallCode(issued) {
  const svg = document.importNode(new DOMParser().parseFromString(issued.install_qr_svg, "image/svg+xml").documentElement, true);
  svg.setAttribute("aria-label", t("QR code of the new card"));
  svg.setAttribute("role", "img");
  await ask(t("Show this to the customer"), (close) => h("div.stack.new-card", null, h("div.qr-code", null, svg), h("p", null, t("The customer scans it with the phone’s camera and gets the card.")), button(t("Done"), () => close(), { kind: "primary.huge", autofocus: true })));
}
