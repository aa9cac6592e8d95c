// Scanners that act as a keyboard: they type a code within a moment and end it with Enter or
// Tab. What they type is a code wherever the focus is; the field that had it keeps what it
// contained. While busy() no code is found, and Enter presses no button by mistake.
const gap = 150; // the most milliseconds between two keys of a scanner
const least = 3; // characters of the shortest code
const leastInText = 8; // after what a person has typed into a field, who may be quick too
const pressed = "button,summary,a"; // by Enter or Space

export function listen(found, busy) {
  let text = "";
  let at = 0;
  let field, before;

  addEventListener(
    "keydown",
    (e) => {
      if (e.ctrlKey || e.altKey || e.metaKey || e.isComposing) return;
      const now = e.timeStamp;
      const quick = now - at <= gap;
      at = now;
      if (e.key === "Enter" || e.key === "Tab") {
        const code = text;
        text = "";
        if (!quick || code.length < (before ? leastInText : least) || !/^[\x20-\x7e]+$/.test(code)) return;
        const ignored = busy();
        if (!ignored || e.target.matches?.(pressed)) e.preventDefault();
        if (ignored) return;
        e.stopPropagation();
        if (field?.isConnected) field.value = before;
        found(code);
        return;
      }
      if (e.key.length !== 1) return;
      if (!quick || !text) {
        text = "";
        field = e.target.matches?.("input,textarea") ? e.target : undefined;
        before = field?.value;
      }
      text += e.key;
      if (e.key === " " && text.length > 1 && e.target.matches?.(pressed)) e.preventDefault();
    },
    true,
  );
}
