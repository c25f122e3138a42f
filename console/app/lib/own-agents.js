import { command } from "./api.js";
import { useLoad } from "./load.js";
import { session } from "./session.js";

const PAGES = 10;
const LIMIT = 200;

/** Load the names of the user's own agents, the first 2,000: a useLoad whose data is a Set. */
export const useOwnAgents = () => useLoad(ownAgents, [session()?.user]);

async function ownAgents() {
  const { user } = session();
  const names = new Set();
  let cursor;
  for (let page = 0; page < PAGES; page += 1) {
    const answer = await command("AP_List", { page: { limit: LIMIT, cursor } });
    for (const { name, owner } of answer.profile) if (owner === user) names.add(name);
    cursor = answer.header.next ?? undefined;
    if (cursor === undefined) break;
  }
  return names;
}
