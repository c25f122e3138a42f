import { Badge } from "../../components/index.js";
import { html } from "../../lib/preact.js";

/** Whether an agent is online, as a badge. */
export function State({ of }) {
  return html`<${Badge} kind=${of === "online" ? "good" : "neutral"}>${of}<//>`;
}
