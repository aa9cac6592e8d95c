// Posts forms with data-preview, a URL, a third of a second after the last change, and
// puts the answer into the element whose id is data-preview-target. Colours come as
// data-vars, such as "--brand: #ff0000; --ink: #ffffff", since a policy without inline
// styles lets only scripts set them.
for (const form of document.querySelectorAll("form[data-preview]")) {
  const target = document.getElementById(form.dataset.previewTarget);
  if (!target) continue;
  let timer, pending;
  const update = async () => {
    pending?.abort();
    pending = new AbortController();
    try {
      const body = new URLSearchParams();
      for (const [name, value] of new FormData(form)) if (typeof value === "string") body.append(name, value);
      const answer = await fetch(form.dataset.preview, { method: "POST", body, signal: pending.signal });
      if (!answer.ok || answer.redirected) return;
      target.innerHTML = await answer.text();
      colour(target);
    } catch (e) {
      if (e.name !== "AbortError" && !(e instanceof TypeError)) throw e; // else the preview stays as it is
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(update, 300);
  });
  colour(target);
}

function colour(root) {
  for (const element of root.querySelectorAll("[data-vars]")) {
    for (const pair of element.dataset.vars.split(";")) {
      const [name, value] = pair.split(":");
      if (value) element.style.setProperty(name.trim(), value.trim());
    }
  }
}
