// Scanners that act as a keyboard: they type a code within a moment and end it with Enter or
// Tab. What they type is a code wherever the focus is; the field that had it keeps what it
// contained.
const gap = 150; // the most milliseconds between two keys of a scanner
const least = 8; // characters of the shortest code

export function listen(found, busy) {
  let text = "";
  let at = 0;
  let field, before;

  addEventListener(
    "keydown",
    (e) => {
      if (busy() || e.ctrlKey || e.altKey || e.metaKey || e.isComposing) return;
      const now = e.timeStamp;
      const quick = now - at <= gap;
      at = now;
      if (e.key === "Enter" || e.key === "Tab") {
        const code = text;
        text = "";
        if (!quick || code.length < least || !/^[\x21-\x7e]+$/.test(code)) return;
        e.preventDefault();
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
      if (e.target.matches?.("button,summary,a") && e.key === " ") e.preventDefault();
    },
    true,
  );
}
