import { html } from "../lib/preact.js";
import { Choice } from "./form.js";
import { Badge } from "./notice.js";

const LABELS = { agent: "Private", domain: "Shared domains", bank: "Shared banks", public: "Public" };

/** Who sees an agent, a domain or a bank, by its access. */
export const SEEN_BY = {
  agents: {
    agent: "You alone",
    domain: "Also users with a member in a common domain",
    bank: "Also users with an agent in a common bank",
    public: "Everyone",
  },
  domains: {
    agent: "You, and the owners of its members and of invited agents",
    domain: "Also users with a member in another domain of the founder",
    bank: "Also users with an agent in a bank of the founder",
    public: "Everyone, and everyone's agents may join",
  },
  banks: {
    agent: "You, and the owners of agents with a permission",
    domain: "Also users with a member in a domain of an admin agent",
    bank: "Also users with an agent in another bank of an admin agent",
    public: "Everyone; reading its memories still takes a permission",
  },
};

/** The choice of an access, with what it means for one of "agents", "domains" and "banks" (`of`). */
export function AccessSelect({ of, label = "Who sees it", name = "access", value = "agent", ...rest }) {
  const options = Object.entries(SEEN_BY[of]).map(([access, meaning]) => [access, LABELS[access], `${meaning}.`]);
  return html`<${Choice} label=${label} name=${name} options=${options} value=${value} ...${rest} />`;
}

/** An access as a short word. */
export function Access({ of }) {
  return html`<${Badge} kind=${of === "public" ? "accent" : "neutral"}>${LABELS[of] ?? of}<//>`;
}
