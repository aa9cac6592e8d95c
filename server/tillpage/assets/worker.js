// The decoder of QR codes, in a worker of its own so that the page stays quick. The first
// message names the files of the decoder; each other one has a picture.
let ready;

onmessage = async ({ data }) => {
  if (data.reader) {
    importScripts(data.reader);
    ready = ZXingWASM.prepareZXingModule({ overrides: { locateFile: () => data.wasm }, fireImmediately: true });
    ready.catch((error) => postMessage({ failed: String(error) }));
    return;
  }
  try {
    await ready;
    const found = await ZXingWASM.readBarcodes(data.image, { formats: ["QRCode"], tryHarder: data.hard, tryInvert: data.hard, tryRotate: true, maxNumberOfSymbols: 1 });
    postMessage({ id: data.id, text: found[0]?.isValid === false ? "" : found[0]?.text || "" });
  } catch (error) {
    postMessage({ id: data.id, text: "", failed: String(error) });
  }
};
