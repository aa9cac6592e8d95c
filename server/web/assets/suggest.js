// Chooses the browser's time zone and country in fields with data-suggest that nobody has
// filled in.
const suggestions = {
  timezone: () => Intl.DateTimeFormat().resolvedOptions().timeZone,
  country: () => new Intl.Locale(navigator.language).maximize().region,
};
for (const field of document.querySelectorAll("[data-suggest]")) {
  const value = suggestions[field.dataset.suggest]();
  const options = field.options ? [...field.options] : null;
  const chosen = options ? options.some((o) => o.defaultSelected && o.value) : field.value;
  if (value && !chosen && (!options || options.some((o) => o.value === value))) field.value = value;
}
