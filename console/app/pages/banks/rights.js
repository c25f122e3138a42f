import { command } from "../../lib/api.js";
import { session } from "../../lib/session.js";

/** Permissions, the weakest first. */
export const PERMISSIONS = ["none", "read", "write", "admin"];

/** What a permission allows, in words. */
export const ALLOWS = {
  none: "nothing; stays in the list",
  read: "recalls and reads memories",
  write: "also loads memories",
  admin: "also censors, deletes and gives permissions",
};

const LIMIT = 200;

/** Read a bank and what the user may do in it: {bank, owner, permission}; a user has the best of its agents' permissions. */
export async function readBank(name, mine) {
  const target = { bank: name };
  const answer = await command("MB_AgentList", { target, page: { limit: LIMIT } });
  const bank = answer.profile[0];
  const owner = bank.owner === session().user;
  const own = answer.content.filter(({ agent, state }) => state === "attached" && mine.has(agent));
  const best = Math.max(PERMISSIONS.indexOf("read"), ...own.map(({ permission }) => PERMISSIONS.indexOf(permission)));
  const writer = own.find(({ permission }) => PERMISSIONS.indexOf(permission) >= PERMISSIONS.indexOf("write"));
  return { bank, owner, permission: owner ? "admin" : PERMISSIONS[best], writer: writer?.agent ?? "", mine };
}

/** Return whether one permission includes another. */
export const includes = (permission, needed) => PERMISSIONS.indexOf(permission) >= PERMISSIONS.indexOf(needed);
