// swap replaces elements of the page by those with the same id in some HTML of this
// server. The focus stays where it was.
export function swap(html) {
  const incoming = new DOMParser().parseFromString(html, "text/html");
  for (const next of incoming.querySelectorAll("[data-part]")) replace(document.getElementById(next.id), next);
}

function replace(old, next) {
  if (!old || old.isEqualNode(next)) return;
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  old.replaceWith(document.adoptNode(next));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}
