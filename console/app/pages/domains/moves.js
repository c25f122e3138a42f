/** The states after each move, by the state before (docs/contract.md, "Memberships"); an absent move is refused. */
const MOVES = {
  none: { DM_Invite: "invited", DM_Join: "member", DM_Ban: "banned" },
  invited: { DM_Join: "member", DM_Leave: "none", DM_Kick: "none", DM_Ban: "banned" },
  member: { DM_Leave: "none", DM_Kick: "none", DM_Ban: "banned" },
  banned: { DM_Unban: "none" },
};

/** What a move is called, and what has happened after it, by the state before. */
const WORDS = {
  DM_Invite: { any: ["Invite", "was invited"] },
  DM_Join: { any: ["Join", "is now a member"] },
  DM_Leave: { any: ["Leave", "has left"], invited: ["Decline", "declined"] },
  DM_Kick: { any: ["Kick", "was removed"], invited: ["Withdraw", "is no longer invited"] },
  DM_Ban: { any: ["Ban", "was banned"] },
  DM_Unban: { any: ["Unban", "is no longer banned"] },
};

/** What the user is in a domain: its owner, a member's owner, or neither; and whether it may invite. */
export function standing({ domain, user, member }) {
  const owner = domain.owner === user;
  return { owner, invites: owner || (member && domain.access !== "agent"), open: domain.access === "public" };
}

/** Return the moves that the user may make with an agent in a state: [{service, label, done}].
 *
 * `agent` is {state, own, founder}, `who` a standing(). A move that would change nothing is left out.
 */
export function allowedMoves(agent, who) {
  return Object.keys(MOVES[agent.state])
    .filter((service) => mayMove(service, agent, who))
    .map((service) => {
      const [label, done] = WORDS[service][agent.state] ?? WORDS[service].any;
      return { service, label, done };
    });
}

function mayMove(service, { state, own, founder }, who) {
  if (founder) return false;
  if (service === "DM_Join") return own && (state === "invited" || who.open);
  if (service === "DM_Leave") return own;
  if (service === "DM_Invite") return who.invites;
  if (service === "DM_Kick") return who.owner && !own; // the owner's own agents leave
  return who.owner;
}
