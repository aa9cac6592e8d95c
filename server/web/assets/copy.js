// Buttons with data-copy, the id of an element, copy its text. The label of a button is
// data-done for two seconds after.
for (const button of document.querySelectorAll("[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  const label = button.querySelector("span");
  if (!source || !label) continue;
  const text = label.textContent;
  let timer;
  button.addEventListener("click", async () => {
    if (!(await copy(source))) return;
    label.textContent = button.dataset.done;
    clearTimeout(timer);
    timer = setTimeout(() => (label.textContent = text), 2000);
  });
}

// copy returns whether the text is in the clipboard. Pages over plain http have no
// navigator.clipboard; there the text is selected, and copied if the browser permits.
async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}
