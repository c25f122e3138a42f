import { pagesOf } from "../../lib/api.js";
import { session } from "../../lib/session.js";

/** Permissions, the weakest first. */
export const PERMISSIONS = ["none", "read", "write", "admin"];

/** What a permission allows, in words. */
export const ALLOWS = {
  none: "Nothing; it stays in the list.",
  read: "It recalls and reads memories.",
  write: "It also loads memories.",
  admin: "It also censors, deletes and gives permissions.",
};

/** Read a bank and what the user may do in it, by the best of its agents' permissions: {bank, owner, permission}. */
export async function readBank(name, mine) {
  const answers = await pagesOf("MB_AgentList", { bank: name });
  const bank = answers[0].profile[0];
  const owner = bank.owner === session().user;
  const own = answers.flatMap(({ content }) => content).filter(({ agent, state }) => state === "attached" && mine.has(agent));
  const best = Math.max(PERMISSIONS.indexOf("read"), ...own.map(({ permission }) => PERMISSIONS.indexOf(permission)));
  const writer = own.find(({ permission }) => PERMISSIONS.indexOf(permission) >= PERMISSIONS.indexOf("write"));
  return { bank, owner, permission: owner ? "admin" : PERMISSIONS[best], writer: writer?.agent ?? "", mine };
}

/** Return whether one permission includes another. */
export const includes = (permission, needed) => PERMISSIONS.indexOf(permission) >= PERMISSIONS.indexOf(needed);
