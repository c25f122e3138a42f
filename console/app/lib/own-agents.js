import { pagesOf } from "./api.js";
import { useLoad } from "./load.js";
import { session } from "./session.js";

/** Load the names of the user's own agents, the first 2,000: a useLoad whose data is a Set. */
export const useOwnAgents = () => useLoad(ownAgents, [session()?.user]);

async function ownAgents() {
  const { user } = session();
  const listed = (await pagesOf("AP_List")).flatMap(({ profile }) => profile);
  return new Set(listed.filter(({ owner }) => owner === user).map(({ name }) => name));
}
