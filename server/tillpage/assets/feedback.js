// Sound, vibration and the screen that stays on. The page shows an icon, a colour and a
// sentence too, so nobody needs to hear, feel or see a colour.
let audio;

// Browsers play sounds after the first touch only.
addEventListener("pointerdown", wake);
addEventListener("keydown", wake);
function wake(e) {
  const Audio = window.AudioContext || window.webkitAudioContext;
  if (!e.isTrusted || !Audio) return;
  audio ??= new Audio();
  if (audio.state === "suspended") audio.resume().catch(() => {});
}

function tone(hertz, after, seconds, shape) {
  if (!audio || muted()) return;
  const oscillator = audio.createOscillator();
  const gain = audio.createGain();
  const start = audio.currentTime + after;
  oscillator.type = shape;
  oscillator.frequency.value = hertz;
  gain.gain.setValueAtTime(0.0001, start);
  gain.gain.exponentialRampToValueAtTime(0.25, start + 0.01);
  gain.gain.exponentialRampToValueAtTime(0.0001, start + seconds);
  oscillator.connect(gain).connect(audio.destination);
  oscillator.start(start);
  oscillator.stop(start + seconds);
}

export const muted = () => localStorage.getItem("till-muted") === "1";
export const mute = (on) => localStorage.setItem("till-muted", on ? "1" : "");

export function soundSuccess() {
  tone(784, 0, 0.12, "sine");
  tone(1175, 0.1, 0.2, "sine");
  navigator.vibrate?.(60);
}

export function soundRefusal() {
  tone(233, 0, 0.18, "triangle");
  tone(175, 0.2, 0.3, "triangle");
  navigator.vibrate?.([90, 70, 90]);
}

export const soundFound = () => (tone(988, 0, 0.08, "sine"), navigator.vibrate?.(20));

// keepAwake keeps the screen on while the page is shown.
export function keepAwake() {
  const request = () => document.visibilityState === "visible" && navigator.wakeLock?.request("screen").catch(() => {}); // saving power
  document.addEventListener("visibilitychange", request);
  request();
}
