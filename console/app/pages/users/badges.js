import { Badge } from "../../components/index.js";
import { html } from "../../lib/preact.js";

export const ROLES = ["user", "auditor", "operator"];
export const PLANS = ["free", "builder", "scale", "enterprise"];

/** A user's role; what is beyond that of a user stands out. */
export const RoleBadge = ({ role }) => (role === "user" ? "user" : html`<${Badge} kind="accent">${role}<//>`);

/** A user's state. */
export const StateBadge = ({ state }) => html`<${Badge} kind=${state === "active" ? "good" : "bad"}>${state}<//>`;
