// Runs before the first paint, so that a chosen theme doesn't flash; lib/theme.js changes the choice.
try {
  const chosen = localStorage.getItem("parley.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage the system's theme holds.
}
