const WIDTH = 180;
const HEIGHT = 44;
const ACROSS = 88;
const DOWN = 14;
const EDGE = 16;

/** Place a user's graph in columns: the user, its agents, domains and banks, and the agents and things of others.
 *
 * Takes GET /debug/graph's answer; returns {width, height, nodes: [{id, kind, name, owner, own, x, y}],
 * edges: [{id, from, to, relation, path}]}. The same answer gives the same picture.
 */
export function laidOut({ user, nodes, edges }) {
  const own = (node) => node.owner === user.name;
  const columns = [
    [{ id: user.id, kind: "user", name: user.name, owner: user.name }],
    nodes.filter((node) => node.kind === "agent" && own(node)),
    nodes.filter((node) => node.kind !== "agent"),
    nodes.filter((node) => node.kind === "agent" && !own(node)),
  ].filter((column) => column.length > 0);
  const related = [
    ...nodes.filter(own).filter((node) => node.kind === "agent").map((node) => relation(user.id, node.id, "owns")),
    ...edges.map(({ agent, held, relation: name }) => relation(agent, held, name)),
    ...unheldOf(user, nodes, edges),
  ];
  sortByNeighbours(columns, related);
  const tallest = Math.max(...columns.map((column) => column.length));
  const height = 2 * EDGE + tallest * (HEIGHT + DOWN) - DOWN;
  const placed = columns.flatMap((column, across) => column.map((node, down) => ({
    ...node,
    own: own(node),
    x: EDGE + across * (WIDTH + ACROSS),
    y: (height - column.length * (HEIGHT + DOWN) + DOWN) / 2 + down * (HEIGHT + DOWN),
  })));
  const at = new Map(placed.map((node) => [node.id, node]));
  return {
    width: 2 * EDGE + columns.length * WIDTH + (columns.length - 1) * ACROSS,
    height,
    size: { width: WIDTH, height: HEIGHT },
    nodes: placed,
    edges: related.filter(({ from, to }) => at.has(from) && at.has(to)).map((edge) => ({ ...edge, path: curve(at.get(edge.from), at.get(edge.to)) })),
  };
}

const relation = (from, to, name) => ({ id: `${from} ${to} ${name}`, from, to, relation: name });

/** Banks that no agent of the user's holds, such as those whose agents were detached, hang on the user. */
function unheldOf(user, nodes, edges) {
  const held = new Set(edges.map((edge) => edge.held));
  const loose = nodes.filter((node) => node.kind !== "agent" && node.owner === user.name && !held.has(node.id));
  return loose.map((node) => relation(user.id, node.id, "owns"));
}

/** Order each column by the places of its neighbours in the one before, which leaves few crossings. */
function sortByNeighbours(columns, related) {
  for (let across = 1; across < columns.length; across += 1) {
    const places = new Map(columns[across - 1].map((node, down) => [node.id, down]));
    const weight = new Map(columns[across].map((node) => [node.id, meanOf(placesOf(node.id, related, places))]));
    columns[across].sort((one, other) =>
      weight.get(one.id) - weight.get(other.id) || one.kind.localeCompare(other.kind) || one.name.localeCompare(other.name));
  }
}

function placesOf(id, related, places) {
  const ends = related.flatMap(({ from, to }) => (from === id ? [to] : to === id ? [from] : []));
  return ends.map((end) => places.get(end)).filter((place) => place !== undefined);
}

const meanOf = (values) => (values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : 1e6);

function curve(one, other) {
  const [left, right] = one.x <= other.x ? [one, other] : [other, one];
  const [x1, x2] = [left.x + WIDTH, right.x];
  const [y1, y2] = [left.y + HEIGHT / 2, right.y + HEIGHT / 2];
  const bend = Math.max((x2 - x1) / 2, 24);
  return `M ${x1} ${y1} C ${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2} ${y2}`;
}
