// Runs in the head: the stored theme is on the page before the first paint.
(function () {
  let choice = "system";
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith("_dash_persistence.theme.value")) {
        choice = JSON.parse(localStorage.getItem(key))[0] || choice;
      }
    }
  } catch (error) {
    choice = "system";
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const scheme = choice === "system" ? (dark ? "dark" : "light") : choice;
  document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
})();
