// Sends forms with data-filters when a choice changes, half a second after the last key in
// a search field, and a second after a date was changed. The buttons with data-nojs are then
// superfluous.
for (const form of document.querySelectorAll("form[data-filters]")) {
  for (const button of form.querySelectorAll("[data-nojs]")) button.hidden = true;
  let timer;
  const send = () => {
    clearTimeout(timer);
    form.requestSubmit();
  };
  form.addEventListener("change", (e) => {
    if (e.target.type !== "search" && e.target.type !== "date") send();
  });
  form.addEventListener("input", (e) => {
    if (e.target.type !== "search" && e.target.type !== "date") return;
    clearTimeout(timer);
    timer = setTimeout(send, e.target.type === "date" ? 1000 : 500);
  });
  form.addEventListener("submit", () => {
    const field = document.activeElement;
    if (form.contains(field) && field.id) sessionStorage.setItem("filter", location.pathname + " " + field.id);
    for (const e of form.elements) if (e.name && e.value === "" && e.type !== "hidden") e.disabled = true; // short URLs
  });
}

// The field that sent the form has the focus again on the next page.
const [path, id] = (sessionStorage.getItem("filter") ?? "").split(" ");
sessionStorage.removeItem("filter");
if (id && path === location.pathname) {
  const field = document.getElementById(id);
  field?.focus();
  if (field?.type === "search") field.setSelectionRange(field.value.length, field.value.length);
}

// A page from the back-forward cache has its fields enabled again.
addEventListener("pageshow", () => {
  for (const e of document.querySelectorAll("form[data-filters] :disabled")) e.disabled = false;
});
