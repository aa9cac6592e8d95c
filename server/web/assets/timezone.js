// Chooses the browser's time zone in fields with data-timezone that nobody has filled in.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (const field of document.querySelectorAll("[data-timezone]")) {
  const options = field.options ? [...field.options] : null;
  const chosen = options ? options.some((o) => o.defaultSelected && o.value) : field.value;
  if (zone && !chosen && (!options || options.some((o) => o.value === zone))) field.value = zone;
}
