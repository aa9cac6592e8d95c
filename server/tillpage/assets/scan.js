// The camera and photos. One stream is kept while the page is shown, since iOS asks again
// for each new one; it ends when the page is hidden.
import { config } from "./dom.js";

// NoDecoder says that the decoder could not be loaded.
export class NoDecoder extends Error {}

let worker;
let next = 0;
const pending = new Map();

function decoder() {
  if (worker) return worker;
  worker = new Worker(config.worker);
  worker.onmessage = ({ data }) => {
    if (data.failed) return forget();
    pending.get(data.id)?.resolve(data);
    pending.delete(data.id);
  };
  worker.onerror = forget;
  worker.postMessage({ reader: config.reader, wasm: config.wasm });
  return worker;
}

// forget ends a worker that could not load the decoder. The next picture tries again.
function forget() {
  worker?.terminate();
  worker = undefined;
  for (const { reject } of pending.values()) reject(new NoDecoder());
  pending.clear();
}

// decode returns the text of the code in a picture, or an empty text, and whether it is a barcode.
function decode(image, hard) {
  return new Promise((resolve, reject) => {
    const id = ++next;
    pending.set(id, { resolve, reject });
    decoder().postMessage({ id, image, hard }, [image.data.buffer]);
  });
}

const canvas = document.createElement("canvas");
const context = canvas.getContext("2d", { willReadFrequently: true });

// pixels draws a part of a picture into at most size by size pixels.
function pixels(source, x, y, width, height, size) {
  const scale = Math.min(1, size / Math.max(width, height));
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  context.drawImage(source, x, y, width, height, 0, 0, canvas.width, canvas.height);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

// decodePhoto returns the text of the code in a photo, or an empty text.
export async function decodePhoto(file) {
  const bitmap = await createImageBitmap(file);
  for (const size of [1000, 2000]) {
    const { text } = await decode(pixels(bitmap, 0, 0, bitmap.width, bitmap.height, size), true);
    if (text) return text;
  }
  return "";
}

// hasCamera reports whether the page may use a camera: over plain http it may not.
export const hasCamera = () => isSecureContext && !!navigator.mediaDevices?.getUserMedia;

export class Camera {
  // found is called with the text of each code that is seen, once while it stays in view;
  // changed after the camera was started, ended or changed; failed with the error if it ends
  // by itself. While idle() is true the camera looks for no codes.
  constructor(video, { found, changed, failed, idle }) {
    Object.assign(this, { video, found, changed, failed, idle });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden && this.stream) this.release();
      else if (!document.hidden && this.wanted) this.start().catch(failed);
    });
  }

  get running() {
    return !!this.stream;
  }

  async start() {
    this.wanted = true;
    if (this.stream || this.starting) return;
    this.starting = true;
    try {
      const lens = localStorage.getItem("till-lens");
      this.stream = await this.open(lens ? { deviceId: { exact: lens } } : { facingMode: { ideal: "environment" } }).catch((error) => {
        if (!lens || error.name === "NotAllowedError") throw error;
        localStorage.removeItem("till-lens"); // that lens is gone
        return this.open({ facingMode: { ideal: "environment" } });
      });
      if (document.hidden) return this.release(); // until the page is shown
      this.video.srcObject = this.stream;
      await this.video.play();
      this.track = this.stream.getVideoTracks()[0];
      this.track.onended = () => this.release();
      this.lenses = (await navigator.mediaDevices.enumerateDevices()).filter((d) => d.kind === "videoinput");
      this.look();
    } catch (error) {
      this.wanted = false;
      this.release();
      throw error;
    } finally {
      this.starting = false;
      this.changed();
    }
  }

  open(lens) {
    return navigator.mediaDevices.getUserMedia({ audio: false, video: { width: { ideal: 1280 }, height: { ideal: 720 }, ...lens } });
  }

  // release ends the stream; stop also means that it is not wanted any more.
  release() {
    this.stream?.getTracks().forEach((track) => track.stop());
    this.stream = this.track = undefined;
    this.torch = false;
    this.video.srcObject = null;
    this.changed();
  }

  stop() {
    this.wanted = false;
    this.release();
  }

  // look decodes one picture after the other while the stream runs. A barcode counts when two pictures
  // show the same one: some have no check digit, and the next number is the card of somebody else.
  async look() {
    const stream = this.stream;
    let seen = "";
    let before = "";
    let missed = 0;
    while (stream && stream === this.stream) {
      await new Promise((resolve) => setTimeout(resolve, 80));
      const { videoWidth: w, videoHeight: h } = this.video;
      if (this.idle() || !w || this.video.readyState < 2) continue;
      const side = Math.min(w, h); // the middle, which the page shows
      let text, bars;
      try {
        ({ text, bars } = await decode(pixels(this.video, (w - side) / 2, (h - side) / 2, side, side, 720), false));
      } catch (error) {
        if (stream !== this.stream) return;
        this.stop();
        return this.failed(error);
      }
      if (!text) {
        if (++missed > 8) seen = before = "";
        continue;
      }
      missed = 0;
      const sure = !bars || text === before;
      before = text;
      if (!sure || text === seen || this.idle() || stream !== this.stream) continue;
      seen = text;
      this.found(text);
    }
  }

  get hasTorch() {
    return !!this.track?.getCapabilities?.().torch;
  }

  async setTorch(on) {
    await this.track.applyConstraints({ advanced: [{ torch: on }] }).catch(() => (on = false));
    this.torch = on;
    this.changed();
  }

  // switchLens goes to the next camera and remembers it.
  async switchLens() {
    const now = this.track?.getSettings().deviceId;
    const i = this.lenses.findIndex((d) => d.deviceId === now);
    localStorage.setItem("till-lens", this.lenses[(i + 1) % this.lenses.length].deviceId);
    this.release();
    await this.start();
  }
}
