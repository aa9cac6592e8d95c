// Who works at the till. The session is in memory alone, so a reload asks again.
import { NoAnswer, Refusal, call, endSession, session } from "./api.js";
import { ask, button, h, icon, note, t } from "./dom.js";
import { soundRefusal } from "./feedback.js";
import { askPIN } from "./keypad.js";
import { noAnswer, sentenceOf } from "./refusals.js";

// demandsSignIn reports whether a write needs that somebody signs in first.
export const demandsSignIn = (me) => !session.token && (me?.location.require_staff || (me?.location.require_staff_pin && !session.pin));

// signIn asks who works here and for the PIN, and returns whether a session is open. A
// location without staff has one PIN for all.
export async function signIn(me, refused) {
  const staff = me.staff || [];
  let problem = refused;
  if (!staff.length && me.location.require_staff) {
    await ask(t("Who is at the till?"), () => note("bad", t("Nobody can sign in here yet. Ask a manager to add people in the dashboard, under Staff.")));
    return false;
  }
  if (!staff.length) {
    const pin = await askPIN(t("PIN of this location"), problem || t("Writes at this location need its PIN."));
    if (!pin) return false;
    session.pin = pin;
    return true;
  }
  const person = await ask(t("Who is at the till?"), (close) =>
    h("div.stack", null, problem && note("bad", problem), h("div.names", null, staff.map((s) => button(s.name, () => close(s), { kind: "big", iconName: "user" })))),
  );
  while (person) {
    const pin = await askPIN(person.name, problem);
    if (!pin) return false;
    try {
      const made = await call("POST", "/session", { staff_id: person.id, pin });
      endSession();
      session.staff = made.staff;
      session.token = made.token;
      return true;
    } catch (error) {
      problem = error instanceof NoAnswer ? noAnswer() : error.code === "invalid_credentials" ? t("That was the wrong PIN. Try again.") : sentenceOf(error.code);
    }
  }
  return false;
}

// retrySignedIn repeats a write for which the session was missing or has ended, after the
// person has signed in. The refused write changed nothing.
export async function retrySignedIn(me, write) {
  for (let refused; ; ) {
    try {
      return await write();
    } catch (error) {
      if (error.code !== "invalid_credentials") throw error;
      refused = session.pin ? t("That was the wrong PIN. Try again.") : session.token ? t("The session has ended. Sign in again.") : undefined;
      endSession();
      soundRefusal();
      if (!(await signIn(me, refused))) return undefined;
    }
  }
}

// signOut ends the session. If the server cannot be reached, it ends there by itself.
export async function signOut() {
  const open = session.token;
  try {
    if (open) await call("DELETE", "/session");
  } catch (error) {
    if (!(error instanceof NoAnswer || error instanceof Refusal)) throw error;
  } finally {
    endSession();
  }
}

// chip returns the button of the header, and a function that has it show who works here.
export function chip(onclick) {
  const name = h("span", { dir: "auto" });
  const button = h("button.chip", { type: "button", onclick, hidden: true }, icon("user"), name);
  const update = (me) => {
    name.textContent = session.staff?.name || (session.pin ? t("Signed in") : t("Sign in"));
    button.setAttribute("aria-label", session.staff ? t("{0} is at the till. Sign out", name.textContent) : name.textContent);
    button.hidden = !(me?.staff?.length || me?.location.require_staff || me?.location.require_staff_pin);
  };
  return [button, update];
}
