// Buttons with data-print print the page.
for (const button of document.querySelectorAll("[data-print]")) {
  button.addEventListener("click", () => print());
}
