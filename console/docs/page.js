// Shows the gateway's own OpenAPI document. validatorUrl null: no badge of another host.
window.SwaggerUIBundle({
  url: "/api/tps/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  filter: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
