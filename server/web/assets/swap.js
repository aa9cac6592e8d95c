// swap replaces elements of the page by those with the same id in some HTML of this
// server. The focus stays where it was, and so does what the person has opened and typed in
// elements with an id.
export function swap(html) {
  const incoming = new DOMParser().parseFromString(html, "text/html");
  for (const next of incoming.querySelectorAll("[data-part]")) replace(document.getElementById(next.id), next);
}

function replace(old, next) {
  if (!old) return;
  for (const from of old.querySelectorAll("details[id], input[id], textarea[id]")) keep(from, next.querySelector("#" + from.id));
  if (old.isEqualNode(next)) return;
  const { id, selectionStart, selectionEnd } = document.activeElement;
  const focused = old.contains(document.activeElement) && id;
  old.replaceWith(document.adoptNode(next));
  if (!focused) return;
  const field = document.getElementById(id);
  field?.focus({ preventScroll: true });
  if (Number.isInteger(selectionStart)) field?.setSelectionRange(selectionStart, selectionEnd);
}

function keep(from, to) {
  if (!to) return;
  if (from.open !== undefined) to.open = from.open;
  else if (from.value !== from.defaultValue) to.value = from.value;
}
