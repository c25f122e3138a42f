// Swagger UI's own switch of the theme; the class follows the system's.
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// Shows the gateway's own OpenAPI document. validatorUrl null: no badge of another host.
const ui = window.SwaggerUIBundle({
  url: "/api/tps/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  filter: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  // The document is the same wherever it is served; its examples are shown with this gateway's address.
  responseInterceptor: (response) => {
    if (response.url.endsWith("/api/tps/openapi.json")) response.text = response.text.replaceAll("http://127.0.0.1:8000", location.origin);
    return response;
  },
  onComplete: () => scrollToLinked(decodeURIComponent(location.hash)),
});

// Swagger UI draws only the operations in view, and scrolls once to the one that the address names: too early on a slow machine.
const scrollToLinked = (hash) => {
  const [, tag, operation] = hash.split("/");
  if (!operation) return;
  const asking = setInterval(() => {
    if (document.querySelector(".opblock.is-open")) stop();
    else ui.layoutActions.scrollToVirtualizedOperation(["operations", tag, operation]);
  }, 500);
  const stop = () => clearInterval(asking);
  for (const event of ["wheel", "keydown", "pointerdown", "touchstart"]) addEventListener(event, stop, { once: true });
  setTimeout(stop, 30_000);
};
