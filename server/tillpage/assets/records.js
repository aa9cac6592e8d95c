// The records of writes, in IndexedDB: { reference, seq, kind, shop, path, body, label, at, state },
// and connect, which is the code of an earlier card with which a new one is to be connected.
// What IndexedDB does not take, as in some private windows or when the disk is full, lives as
// long as the page.
const memory = new Map(); // by reference; null: the record was removed
let database;

// open opens the database, again if it was closed or could not be opened.
function open() {
  database ??= new Promise((resolve, reject) => {
    const request = indexedDB.open("till", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("writes", { keyPath: "reference" });
    request.onsuccess = () => {
      request.result.onclose = forget;
      request.result.onversionchange = () => (request.result.close(), forget());
      resolve(request.result);
    };
    request.onerror = () => reject(request.error);
  });
  database.catch(forget);
  return database;
}

const forget = () => (database = undefined);

// run runs one transaction and returns what its request answers, after it is on the disk.
// Browsers close a database by themselves, as Safari does with apps in the background.
async function run(mode, act, again = true) {
  const db = await open();
  try {
    return await new Promise((resolve, reject) => {
      const tx = db.transaction("writes", mode, mode === "readwrite" ? { durability: "strict" } : undefined);
      const request = act(tx.objectStore("writes"));
      tx.oncomplete = () => resolve(request.result);
      tx.onerror = tx.onabort = () => reject(tx.error);
    });
  } catch (error) {
    if (!again || error?.name !== "InvalidStateError") throw error;
    forget();
    return run(mode, act, false);
  }
}

// put stores a record.
export async function put(record) {
  try {
    await run("readwrite", (s) => s.put(record));
    memory.delete(record.reference);
  } catch {
    memory.set(record.reference, structuredClone(record));
  }
}

// remove removes a record.
export async function remove(reference) {
  try {
    await run("readwrite", (s) => s.delete(reference));
    memory.delete(reference);
  } catch {
    memory.set(reference, null);
  }
}

// all returns the records in the order in which they were made.
export async function all() {
  const stored = await run("readonly", (s) => s.getAll()).catch(() => []);
  const records = new Map(stored.map((r) => [r.reference, r]));
  for (const [reference, record] of memory) {
    if (record) records.set(reference, structuredClone(record));
    else records.delete(reference);
  }
  return [...records.values()].sort((a, b) => a.seq - b.seq);
}

// keep asks the browser not to remove the records when the device has little room.
export const keep = () => navigator.storage?.persist?.().catch(() => {});

// uuid returns a random UUID. crypto.randomUUID is missing on pages over plain http.
export function uuid() {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6] & 15) | 64;
  b[8] = (b[8] & 63) | 128;
  const x = [...b].map((n) => n.toString(16).padStart(2, "0")).join("");
  return [x.slice(0, 8), x.slice(8, 12), x.slice(12, 16), x.slice(16, 20), x.slice(20)].join("-");
}
