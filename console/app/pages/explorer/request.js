/** What stands for the password in links and in copied programs. */
export const PASSWORD = "YOUR_PASSWORD";

const SECRET = "vx.secret";
const MAX_IN_LINK = 5000; // as a link encodes it; the gateway takes a head of up to 8 KiB
const ATTRIBUTES = { US: "users", AP: "agents", DM: "domains", ZN: "zones", MB: "banks", CV: "conversations" };

/** Build a request's members from the values of its fields, {"target.agent": "scout"}; blank ones are left out. */
export function membersFrom(command, values) {
  const body = {};
  for (const { path, type } of command.members) {
    const value = values[path];
    if (value === undefined || value === "") continue;
    const [part, name] = path.split(".");
    const given = type === "integer" ? Number(value) : value;
    if (name === undefined) body[part] = given;
    else body[part] = { ...body[part], [name]: given };
  }
  return body;
}

/** Return the fields' values that a request's members stand for, and whether that is all of them. */
export function valuesFrom(command, body) {
  const values = {};
  let left = 0;
  const paths = new Set(command.members.map(({ path }) => path));
  const take = (path, value) => {
    if (paths.has(path) && (typeof value === "string" || typeof value === "number")) values[path] = String(value);
    else if (value !== null && path !== "service") left += 1;
  };
  for (const [part, value] of Object.entries(body)) {
    if (value === null || typeof value !== "object") take(part, value);
    else for (const [name, member] of Object.entries(value)) take(`${part}.${name}`, member);
  }
  return { values, whole: left === 0 };
}

/** Parse the text of a request; returns {body} or {error}, also where it names another service than the given one. */
export function parsed(text, service) {
  try {
    const body = JSON.parse(text);
    if (body === null || typeof body !== "object" || Array.isArray(body)) return { error: "A request is a JSON object: {...}." };
    if (service === undefined) return { body };
    const { service: named = service, ...members } = body;
    return named === service ? { body: members } : { error: `This page sends ${service}: choose another command in the list.` };
  } catch (failure) {
    return { error: failure.message };
  }
}

/** Return the whole request of a command: its own service counts, whatever the members hold. */
export const requestOf = ({ service }, body) => Object.assign({ service }, body, { service });

/** Return a request with the password replaced; links and copied programs never hold one. */
export function withoutSecret(body, instead) {
  if (body.vx === null || typeof body.vx !== "object" || !("secret" in body.vx)) return body;
  const { secret: _, ...rest } = body.vx;
  return { ...body, vx: instead === undefined ? rest : { ...rest, secret: instead } };
}

/** Return the query of a link to a filled form: each member of the command, "" if it is blank, secret or too long. */
export function queryOf(command, { mode, values, text, stream, after }) {
  let room = MAX_IN_LINK;
  const fitting = (value) => {
    const size = new URLSearchParams([["", value]]).toString().length;
    if (size > room) return "";
    room -= size;
    return value;
  };
  const query = { mode: mode === "json" ? "json" : "", stream: stream ? "yes" : "", after: fitting(after) };
  for (const { path } of command.members) {
    query[path] = mode === "json" || path === SECRET ? "" : fitting(values[path] ?? "");
  }
  const { body } = mode === "json" ? parsed(text) : {};
  query.raw = body ? fitting(JSON.stringify(withoutSecret(body))) : "";
  return query;
}

/** Return the state of the form that a link holds. */
export function stateOf(command, query) {
  const values = {};
  for (const { path } of command.members) {
    if (query[path] !== undefined && path !== SECRET) values[path] = query[path];
  }
  const given = query.raw ? parsed(query.raw).body : undefined;
  return {
    mode: query.mode === "json" ? "json" : "form",
    values,
    text: JSON.stringify(given ?? membersFrom(command, values), null, 2),
    stream: query.stream === "yes",
    after: query.after ?? "",
  };
}

/** Write a request as a curl command for a POSIX shell; the key is taken from PARLEY_API_KEY. */
export function asCurl(command, body, { url, stream, after }) {
  const headers = [["Content-Type", "application/json"]];
  if (stream) headers.push(["Accept", "text/event-stream"]);
  if (command.endless && after) headers.push(["Last-Event-ID", after]);
  const lines = [`curl -sS${stream || command.endless ? "N" : ""} ${quoted(url)}`];
  if (!command.open) lines.push('-H "Authorization: Bearer $PARLEY_API_KEY"');
  for (const [name, value] of headers) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  lines.push(`--data-binary ${quoted(JSON.stringify(requestOf(command, withoutSecret(body, PASSWORD))))}`);
  return `${lines.join(" \\\n  ")}\n`;
}

/** Quote any text for a POSIX shell. */
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Write a request as a program for parley_client; the key is taken from PARLEY_API_KEY. */
export function asPython(command, body, { origin, brand, stream, after }) {
  const others = brand === "Svc" ? "" : `, brand=${literal(brand)}`;
  return [
    ...(command.open ? [] : ["# The API key is taken from the environment: export PARLEY_API_KEY=plk_..."]),
    "from parley_client import Parley",
    "",
    `with Parley(${literal(origin)}${others}) as client:`,
    ...callOf(command, withoutSecret(body, PASSWORD), { stream, after }).map((line) => `    ${line}`),
    "",
  ].join("\n");
}

function callOf(command, body, { stream, after }) {
  const { values, whole } = valuesFrom(command, body);
  const lacks = command.members.some(({ path, required }) => required && values[path] === undefined);
  if (!whole || lacks) return [`print(client.send(${literal(command.service)}, ${literal(body)}))`];
  const types = new Map(command.members.map(({ path, type }) => [path, type]));
  const given = Object.entries(values).map(([path, value]) =>
    `${path.split(".").at(-1)}=${types.get(path) === "integer" ? value : literal(value)}`);
  if (command.endless && after) given.push(`after=${literal(after)}`);
  const call = (name) => `client.${ATTRIBUTES[command.service.slice(0, 2)]}.${name}(${given.join(", ")})`;
  const name = methodOf(command.service);
  if (command.endless) return [`for event in ${call(name)}:`, "    print(event)"];
  if (stream) return [`for text in ${call(`stream_${name}`)}.text():`, '    print(text, end="", flush=True)'];
  if (types.has("page.cursor")) return [`for item in ${call(name)}:`, "    print(item)"];
  return [`print(${call(name)})`];
}

const methodOf = (service) => service.split("_")[1].replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();

/** Write a value as Python; JSON's strings and numbers are Python's, too. */
function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${literal(member)}`).join(", ")}}`;
}
