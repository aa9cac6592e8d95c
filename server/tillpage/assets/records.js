// The records of writes, in IndexedDB: { reference, seq, kind, path, body, label, at, state }.
// Where a browser has no IndexedDB, as in some private windows, they live as long as the page.
const memory = new Map();
let database;

function open() {
  database ??= new Promise((resolve) => {
    let request;
    try {
      request = indexedDB.open("till", 1);
    } catch {
      return resolve(null);
    }
    request.onupgradeneeded = () => request.result.createObjectStore("writes", { keyPath: "reference" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => resolve(null);
  });
  return database;
}

// run runs one transaction and returns what its request answers, after it is complete.
async function run(mode, act, fallback) {
  const db = await open();
  if (!db) return fallback();
  return new Promise((resolve, reject) => {
    const tx = db.transaction("writes", mode, mode === "readwrite" ? { durability: "strict" } : undefined);
    const request = act(tx.objectStore("writes"));
    tx.oncomplete = () => resolve(request.result);
    tx.onerror = tx.onabort = () => reject(tx.error);
  });
}

export const put = (record) => run("readwrite", (s) => s.put(record), () => memory.set(record.reference, structuredClone(record)));
export const remove = (reference) => run("readwrite", (s) => s.delete(reference), () => memory.delete(reference));
export const all = async () => (await run("readonly", (s) => s.getAll(), () => [...memory.values()])).sort((a, b) => a.seq - b.seq);

// uuid returns a random UUID. crypto.randomUUID is missing on pages over plain http.
export function uuid() {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = (b[6] & 15) | 64;
  b[8] = (b[8] & 63) | 128;
  const x = [...b].map((n) => n.toString(16).padStart(2, "0")).join("");
  return [x.slice(0, 8), x.slice(8, 12), x.slice(12, 16), x.slice(16, 20), x.slice(20)].join("-");
}
