// The part of the page that finds a card: camera, photo, typed code and search.
import { button, ask, h, icon, note, t } from "./dom.js";
import { NoAnswer, call } from "./api.js";
import { soundFound } from "./feedback.js";
import { noAnswer, sentenceOf } from "./refusals.js";
import { Camera, NoDecoder, decodePhoto, hasCamera } from "./scan.js";

// finder returns the panel. found is called with the text of each code. While idle() is true
// the camera looks for none.
export function finder(found, idle) {
  const seen = (code) => (soundFound(), found(code));
  const problem = h("div", { role: "alert" });
  return h("section.find", { "aria-labelledby": "find-title" }, h("h2", { id: "find-title" }, t("Find the card")), hasCamera() ? cameraPart(seen, idle, problem) : photoPart(seen, problem), problem, codeForm(found));
}

// resumeCamera starts the camera if it was on when the page was last used.
export let resumeCamera = () => {};

function cameraPart(seen, idle, problem) {
  const video = h("video", { playsinline: true, muted: true, "aria-label": t("Picture of the camera") });
  video.muted = true;
  const start = button(t("Scan with the camera"), () => begin(), { kind: "primary.huge.scan", iconName: "qr" });
  const torch = button(t("Light"), () => camera.setTorch(!camera.torch), { iconName: "torch", hidden: true });
  const lens = button(t("Other camera"), () => camera.switchLens().catch((error) => failed(error)), { iconName: "switch", hidden: true });
  const stop = button(t("Stop"), () => (localStorage.removeItem("till-camera"), camera.stop()), { iconName: "close" });
  const box = h("div.camera", { hidden: true }, video, h("div.frame", { "aria-hidden": "true" }), h("div.camera-keys", null, torch, lens, stop));
  const photo = photoPart(seen, problem);
  photo.hidden = true;
  const failed = (error) => {
    localStorage.removeItem("till-camera");
    photo.hidden = error.name === "NotFoundError" || error instanceof NoDecoder;
    problem.replaceChildren(note("bad", sentenceOfCamera(error)));
  };
  const changed = () => {
    box.hidden = !camera.running;
    start.hidden = camera.running;
    torch.hidden = !camera.hasTorch;
    torch.setAttribute("aria-pressed", !!camera.torch);
    lens.hidden = !(camera.lenses?.length > 1);
  };
  const camera = new Camera(video, { found: seen, changed, failed, idle });
  const begin = async () => {
    problem.replaceChildren();
    try {
      await camera.start();
      localStorage.setItem("till-camera", "1");
      photo.hidden = true;
    } catch (error) {
      failed(error);
    }
  };
  resumeCamera = () => localStorage.getItem("till-camera") && begin();
  return h("div.stack", null, box, start, photo);
}

// sentenceOfCamera says why there is no picture, and what to do.
function sentenceOfCamera(error) {
  if (error instanceof NoDecoder) return noDecoder();
  switch (error.name) {
    case "NotAllowedError":
      return t("The camera is not allowed. Allow it in the browser’s settings for this page.");
    case "NotFoundError":
      return t("This device has no camera. Type the code, or use a scanner.");
  }
  return t("The camera cannot be used. Close other apps that use it, or type the code.");
}

const noDecoder = () => t("The scanner could not be loaded. Check the connection, or type the code.");

// photoPart is for pages over plain http, on which browsers permit no camera, and for people
// who do not permit it: a photo is taken by another app.
function photoPart(seen, problem) {
  const input = h("input", {
    type: "file",
    accept: "image/*",
    capture: "environment",
    id: "photo",
    class: "vh",
    onchange: async () => {
      const file = input.files[0];
      input.value = "";
      if (!file) return;
      problem.replaceChildren(h("p.soft", null, t("Reading the photo …")));
      let text = "";
      let why = t("There is no readable code in the photo. Hold the camera closer, or type the code.");
      try {
        text = await decodePhoto(file);
      } catch (error) {
        if (error instanceof NoDecoder) why = noDecoder(); // else it is no picture
      }
      problem.replaceChildren(...(text ? [] : [note("bad", why)]));
      if (text) seen(text);
    },
  });
  return h(
    "div.stack",
    null,
    input,
    h("label.button.primary.huge", { for: "photo" }, icon("upload"), h("span", null, t("Take a photo of the code"))),
    !hasCamera() && h("p.soft.small", null, isSecureContext ? t("This browser gives no access to a camera.") : t("The camera works only over https. The person who runs the server can switch that on with --tls-auto, or a proxy.")),
  );
}

// codeForm returns a form for a code that a person types. Each one on the page has an id of its own.
export function codeForm(found, id = "code", label = t("Code of the card")) {
  const input = h("input", { id, name: "code", type: "text", autocomplete: "off", autocapitalize: "characters", spellcheck: "false", enterkeyhint: "go", maxlength: 200, placeholder: "K7QM-2X9P" });
  return h(
    "form.typed",
    {
      onsubmit: (e) => {
        e.preventDefault();
        const code = input.value.trim();
        input.value = "";
        if (code) found(code);
      },
    },
    h("label", { for: id }, label),
    h("div.beside", null, input, h("button.button", { type: "submit" }, icon("search"), h("span", null, t("Show")))),
  );
}

// search asks for a name, an email, a phone number or a reference, and returns the handle of the card that is chosen.
export function search() {
  return ask(t("Search for a card"), (close) => {
    const list = h("div.rows", { "aria-live": "polite" });
    const input = h("input", { id: "q", type: "search", autocomplete: "off", minlength: 3, maxlength: 100, required: true, autofocus: true, enterkeyhint: "search" });
    const show = async (e) => {
      e.preventDefault();
      list.replaceChildren(h("p.soft", null, t("Searching …")));
      try {
        const { data } = await call("GET", "/search?q=" + encodeURIComponent(input.value.trim()));
        list.replaceChildren(...(data.length ? data.map((r) => result(r, close)) : [h("p.soft", null, t("No card was found. Try another part of the name, or the last four digits of the phone number."))]));
      } catch (error) {
        const text = error instanceof NoAnswer ? noAnswer() : error.code === "rate_limited" ? t("This till has searched too often. Scan the card, or wait.") : sentenceOf(error.code);
        list.replaceChildren(note("bad", text));
      }
    };
    return h(
      "form.stack",
      { onsubmit: show },
      h("label", { for: "q" }, t("Name, email or phone number of the customer, at least three characters")),
      h("div.beside", null, input, h("button.button.primary", { type: "submit" }, icon("search"), h("span", null, t("Search")))),
      list,
    );
  });
}

function result(r, close) {
  const more = [r.email, r.phone, r.program].filter(Boolean).join(" · ");
  return h("button.row-entry.pick", { type: "button", onclick: () => close(r.handle) }, h("p", null, h("b", { dir: "auto" }, r.name || t("No name")), h("small", null, more)), icon("card"));
}
