// The decoder of QR codes, in a worker of its own so that the page stays quick. The first
// message names the files of the decoder; each other one has a picture. { failed } answers
// that there is no decoder.
let ready;

onmessage = async ({ data }) => {
  try {
    if (data.reader) {
      importScripts(data.reader);
      ready = ZXingWASM.prepareZXingModule({ overrides: { locateFile: () => data.wasm }, fireImmediately: true });
    }
    await ready;
  } catch (error) {
    return postMessage({ failed: String(error) });
  }
  if (!data.image) return;
  let found = [];
  try {
    found = await ZXingWASM.readBarcodes(data.image, { formats: ["QRCode"], tryHarder: data.hard, tryInvert: data.hard, tryRotate: true, maxNumberOfSymbols: 1 });
  } catch {
    // A picture that the decoder cannot read has no code.
  }
  postMessage({ id: data.id, text: found[0]?.isValid === false ? "" : found[0]?.text || "" });
};
