// Has this browser show notices about the card, if its holder wants that. The state is an
// attribute of the document, since the parts of the page are replaced by newer ones:
// "off", "denied", "prizes" or "all". Without it the page shows nothing about notices.
const root = document.documentElement;
const section = document.getElementById("notices");
const path = section?.dataset.push;
const store = "notices " + path;
let asked = false; // since the page was opened

// chosen returns what the holder has chosen, and the endpoint that the server knows.
function chosen() {
  try {
    return JSON.parse(localStorage.getItem(store)) ?? {};
  } catch {
    return {};
  }
}

function choose(choice) {
  if (choice) localStorage.setItem(store, JSON.stringify(choice));
  else if (chosen().notify) localStorage.removeItem(store);
}

// send sends something to the server, and fails unless it accepts it.
async function send(method, body) {
  const answer = await fetch(path + "?lang=" + root.lang, {
    method,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok && answer.status !== 410) throw new Error(String(answer.status));
}

const bytesOf = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

// subscribe returns the subscription of this browser, which all cards of the server share. It has one
// for the key of the server.
async function subscribe(manager) {
  const { public_key: key } = await (await fetch(path)).json();
  const options = { userVisibleOnly: true, applicationServerKey: bytesOf(key) };
  const old = await manager.getSubscription();
  const own = new Uint8Array(old?.options.applicationServerKey ?? []);
  if (old && own.join() !== options.applicationServerKey.join()) await old.unsubscribe();
  return manager.subscribe(options);
}

async function begin(notify) {
  // Browsers ask only in answer to a press, so nothing else is waited for before.
  if (Notification.permission === "default") await Notification.requestPermission();
  await navigator.serviceWorker.register("/sw.js", { scope: "/c/" });
  const registration = await navigator.serviceWorker.ready;
  choose({ ...chosen(), notify }); // fails where nothing can be kept
  const subscription = await subscribe(registration.pushManager);
  const { endpoint, keys } = subscription.toJSON();
  await send("POST", { endpoint, keys, notify });
  choose({ notify, endpoint });
}

async function end() {
  const { endpoint } = chosen();
  await send("DELETE", { endpoint });
  choose();
  if (Object.keys(localStorage).some((key) => key.startsWith("notices "))) return; // of another card
  const registration = await navigator.serviceWorker.ready;
  await (await registration.pushManager.getSubscription())?.unsubscribe();
}

// show shows the state. A page that may show no notices says so only if its holder wants them.
function show() {
  const { notify } = chosen();
  if (Notification.permission !== "denied") root.dataset.notices = notify ?? "off";
  else if (notify || asked) root.dataset.notices = "denied";
}

// act does what a button asks for, once at a time.
async function act(button, work) {
  asked = true;
  button.disabled = true;
  try {
    await work();
    delete root.dataset.noticesFailed;
  } catch {
    if (!chosen().endpoint) choose();
    if (Notification.permission !== "denied") root.dataset.noticesFailed = "";
  }
  button.disabled = false;
  show();
}

// renew tells the server the subscription of a browser that shows notices already: it may have a new one, and
// the server may have lost it.
async function renew() {
  const { notify } = chosen();
  if (notify && Notification.permission === "granted") await begin(notify);
}

if (path && isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window) {
  document.addEventListener("click", (e) => {
    const button = e.target.closest("#notices button");
    if (!button) return;
    act(button, button.value ? () => begin(button.value) : end);
  });
  show();
  renew().catch(() => {});
}
