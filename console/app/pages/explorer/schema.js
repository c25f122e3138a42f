import { route } from "../../lib/api.js";

const DOCUMENT = "/api/tps/openapi.json";
const PARTS = ["target", "content", "vx", "page"];
const LONG_TEXT = 300;
const ERASES = /_(Destroy|Censor|Delete)$/;
let loading = null;

/** Load every command of the gateway's OpenAPI document, in its order; the document is read once. */
export function loadCommands() {
  loading ??= route("GET", DOCUMENT).then(commandsOf).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** Return commands as groups, [{title, about, commands}]. */
export function groupsOf(commands) {
  const groups = new Map();
  for (const command of commands) {
    if (!groups.has(command.group)) groups.set(command.group, { title: command.group, about: command.about, commands: [] });
    groups.get(command.group).commands.push(command);
  }
  return [...groups.values()];
}

function commandsOf(document) {
  const about = new Map(document.tags.map((tag) => [tag.name, tag.description]));
  const schemas = document.components.schemas;
  const operations = Object.values(document.paths).map((path) => path.post).filter(Boolean);
  return operations
    .filter((operation) => schemas[`${operation.operationId}Request`])
    .map((operation) => commandOf(operation, schemas[`${operation.operationId}Request`], about));
}

function commandOf(operation, schema, about) {
  const service = operation.operationId;
  const [tag] = operation.tags;
  const answers = operation.responses["200"].content;
  const parameters = (operation.parameters ?? []).map((parameter) => parameter.$ref ?? "");
  return {
    service,
    tag,
    group: tag.replace(/^\d+ - /, ""),
    about: about.get(tag),
    summary: operation.summary,
    errors: errorsOf(operation.description),
    members: membersOf(schema),
    example: operation.requestBody.content["application/json"].example ?? {},
    open: operation.security.length === 0,
    changes: parameters.some((parameter) => parameter.endsWith("/IdempotencyKey")) || service === "US_Create",
    keyed: parameters.some((parameter) => parameter.endsWith("/IdempotencyKey")),
    streams: "text/event-stream" in answers,
    endless: !("application/json" in answers),
    erases: ERASES.test(service),
  };
}

/** Return the meanings of a command's own codes, from the list in its description. */
function errorsOf(description) {
  return Object.fromEntries([...description.matchAll(/^- (\d{4}): (.*)$/gm)].map(([, code, meaning]) => [code, meaning]));
}

function membersOf(schema) {
  const names = Object.keys(schema.properties).sort((one, other) => PARTS.indexOf(one) - PARTS.indexOf(other));
  return names.flatMap((part) => {
    const own = schema.properties[part];
    const isRequired = schema.required?.includes(part) ?? false;
    if (!own.properties) return [memberOf(part, own, isRequired)];
    return Object.entries(own.properties).map(([name, member]) =>
      memberOf(`${part}.${name}`, member, isRequired && (own.required?.includes(name) ?? false)));
  });
}

function memberOf(path, schema, required) {
  return {
    path,
    required,
    help: schema.description ?? "",
    type: schema.type,
    choices: schema.enum?.filter((choice) => choice !== null) ?? null,
    secret: path === "vx.secret",
    long: (schema.maxLength ?? 0) > LONG_TEXT && path !== "page.cursor",
    limits: { min: schema.minimum, max: schema.maximum, maxlength: schema.maxLength },
  };
}
