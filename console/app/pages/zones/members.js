import { Badge, ErrorNotice, Loading } from "../../components/index.js";
import { pagesOf } from "../../lib/api.js";
import { useCallback, useEffect, html, useState } from "../../lib/preact.js";

/** The members of a domain, kept up to date by the events of its stream: {members, error, apply(membership)}. */
export function useMembers(domain) {
  const [state, setState] = useState({ members: null, error: null });
  useEffect(() => {
    let current = true;
    setState({ members: null, error: null });
    readAll(domain).then(
      (members) => current && setState({ members, error: null }),
      (error) => current && setState({ members: [], error }),
    );
    return () => {
      current = false;
    };
  }, [domain]);
  const apply = useCallback((membership) => setState((before) => ({ ...before, members: changed(before.members ?? [], membership) })), []);
  return { ...state, apply };
}

async function readAll(domain) {
  return (await pagesOf("DM_Read", { domain })).flatMap(({ content }) => content);
}

function changed(members, membership) {
  const others = members.filter(({ agent }) => agent !== membership.agent);
  const all = membership.state === "none" ? others : [...others, membership];
  return all.sort((one, other) => one.agent.localeCompare(other.agent));
}

/** The list of members, the invited ones last. */
export function MemberList({ members, error, onMention }) {
  if (members === null) return html`<${Loading} />`;
  const present = members.filter(({ state }) => state === "member");
  const invited = members.filter(({ state }) => state === "invited");
  return html`
    <${ErrorNotice} error=${error} />
    <ul class="members">
      ${present.map(({ agent, founder }) => html`<li key=${agent}>
        <button type="button" class="member" title=${`Mention ${agent}`} onClick=${() => onMention(agent)}>
          <span class="avatar" aria-hidden="true">${agent.slice(0, 1).toUpperCase()}</span>
          <span>${agent}</span>${founder && html`<${Badge}>founder<//>`}
        </button>
      </li>`)}
      ${invited.map(({ agent }) => html`<li key=${agent} class="member quiet"><span class="avatar" aria-hidden="true">${agent.slice(0, 1).toUpperCase()}</span>
        <span>${agent}</span><${Badge}>invited<//></li>`)}
    </ul>`;
}
