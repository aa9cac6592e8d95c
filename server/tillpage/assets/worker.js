// The decoder of codes, in a worker of its own so that the page stays quick. The first
// message names the files of the decoder; each other one has a picture. { failed } answers
// that there is no decoder.
let ready;

// options have the decoder read the QR codes of cards, and what earlier plastic cards have. Texts are
// those that a keyboard scanner types.
const options = { formats: ["QRCode", "EAN13", "EAN8", "UPCA", "Code128", "Code39"], textMode: "Plain", tryCode39ExtendedMode: false, tryRotate: true, maxNumberOfSymbols: 1 };

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
    found = await ZXingWASM.readBarcodes(data.image, { ...options, tryHarder: data.hard, tryInvert: data.hard });
  } catch {
    // A picture that the decoder cannot read has no code.
  }
  const code = found[0]?.isValid === false ? undefined : found[0];
  postMessage({ id: data.id, text: code?.text || "", bars: !!code && !code.format.startsWith("QR") });
};
