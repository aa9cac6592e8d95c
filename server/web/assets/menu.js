// Closes open menus by the Escape key, and by a click or the focus elsewhere.
const closeOthers = (target) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
};
document.addEventListener("click", (e) => closeOthers(e.target));
document.addEventListener("focusin", (e) => closeOthers(e.target));
document.addEventListener("keydown", (e) => {
  if (e.key !== "Escape") return;
  const menu = document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
