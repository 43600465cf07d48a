// Runs before the first paint, so that nobody who chose dark is shown a white page first. A file of its own because the
// content security policy allows no inline script.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("taskyard-theme");
  } catch {
    // Storage is switched off: the system's choice is taken.
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = chosen === "dark" || chosen === "light" ? chosen : dark ? "dark" : "light";
})();
