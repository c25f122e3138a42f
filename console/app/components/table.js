import { html, useCallback, useEffect, useRef, useState } from "../lib/preact.js";
import { Link } from "../lib/router.js";
import { Button } from "./button.js";
import { Empty, ErrorNotice, Loading } from "./notice.js";

/** A table of `columns`.
 *
 * Columns are [{title, cell: (row) => node, align?: "end", wide?, name?, hideOnPhone?, action?, sort?: (row) => key}].
 * Rows are given (`rows`), or loaded as one scrolls: load(cursor) -> {rows, next}, anew when `keys` change. `href(row)`
 * makes the first cell a link. `empty` is shown when there is nothing: a text or a node. `id(row)` tells rows apart.
 * A `name` may break anywhere, because it is one word of up to 64 letters. When `fresh` (a counter) changes, the rows
 * that are shown are loaded anew in place.
 */
export function Table({ columns, rows, load, keys = [], fresh = 0, empty = "Nothing here yet.", label, href, id, sort, onSort }) {
  const pages = usePages(load, keys, fresh);
  const shown = rows ?? pages.rows;
  if (shown.length === 0 && load && pages.error) return html`<${ErrorNotice} error=${pages.error} retry=${pages.more} />`;
  if (shown.length === 0 && load && !pages.done) return html`<${Loading} />`;
  if (shown.length === 0) return typeof empty === "string" ? html`<${Empty} title=${empty} />` : empty;
  return html`<div class="table-frame" role="region" aria-label=${label} tabindex="0">
    <table>
      <caption class="offscreen">${label}</caption>
      <thead><tr>${columns.map((column) => html`<${Head} key=${column.title} ...${{ column, sort, onSort }} />`)}</tr></thead>
      <tbody>
        ${shown.map((row, at) => html`<tr key=${id ? id(row) : (row.id ?? row.name ?? at)}>
          ${columns.map((column, place) => html`<td key=${column.title} class=${cellClass(column)}
            data-label=${column.action ? undefined : column.title}>
            ${place === 0 && href ? html`<${Link} href=${href(row)}>${column.cell(row)}<//>` : column.cell(row)}
          </td>`)}
        </tr>`)}
      </tbody>
    </table>
    ${load && html`<${More} pages=${pages} />`}
  </div>`;
}

const cellClass = ({ align, wide, name, hideOnPhone, action }) =>
  [align === "end" && "end", wide && "wide-cell", name && "name-cell", hideOnPhone && "not-on-phone", action && "action-cell"].filter(Boolean).join(" ") || undefined;

function Head({ column, sort, onSort }) {
  const order = sort?.by === column.title ? (sort.down ? "descending" : "ascending") : "none";
  if (!onSort || !column.sort) return html`<th scope="col" class=${cellClass(column)}>${column.title}</th>`;
  return html`<th scope="col" class=${cellClass(column)} aria-sort=${order}>
    <button type="button" class="sort" onClick=${() => onSort(column.title)}>${column.title}</button>
  </th>`;
}

/** The end of a list of usePages, which loads more once it is scrolled into view. */
export function More({ pages }) {
  const end = useRef(null);
  useEffect(() => {
    if (pages.done || pages.loading || pages.error) return undefined;
    const watch = new IntersectionObserver(([entry]) => entry.isIntersecting && pages.more(), { rootMargin: "400px" });
    watch.observe(end.current);
    return () => watch.disconnect();
  }, [pages.done, pages.loading, pages.error]);
  return html`<div class="more" ref=${end} aria-live="polite">
    ${pages.error && html`<${ErrorNotice} error=${pages.error} retry=${pages.more} />`}
    ${!pages.error && !pages.done && html`<${Button} kind="ghost" size="small" busy=${pages.loading} onClick=${pages.more}>
      ${pages.loading ? "Loading more" : "Load more"}<//>`}
  </div>`;
}

/** Load pages of a list: load(cursor) -> {rows, next}; {rows, more, loading, done, error, reload, refresh, setRows}.
 *
 * It begins anew when `keys` change. `refresh` loads anew what is shown, in place; so does a change of `fresh`. Then
 * `load` also gets the number of rows still wanted, so that it may take larger pages.
 */
export function usePages(load, keys = [], fresh = 0) {
  const first = { rows: [], next: null, done: false, loading: false, error: null };
  const [state, setState] = useState(first);
  const latest = useRef({ load, state, turn: 0 });
  latest.current.load = load;
  const change = (next) => {
    latest.current.state = next;
    setState(next);
  };

  const more = useCallback(async () => {
    const { state: before, turn } = latest.current;
    if (before.loading || before.done || !latest.current.load) return;
    change({ ...before, loading: true, error: null });
    let after;
    try {
      const page = await latest.current.load(before.next);
      after = (now) => ({ ...now, rows: [...now.rows, ...page.rows], next: page.next, done: !page.next, loading: false });
    } catch (error) {
      after = (now) => ({ ...now, loading: false, error });
    }
    if (turn === latest.current.turn) change(after(latest.current.state));
  }, []);

  const reload = useCallback(() => {
    latest.current.turn += 1;
    change(first);
    return more();
  }, []);

  const refresh = useCallback(async () => {
    latest.current.turn += 1;
    const { turn, state: { rows: shown } } = latest.current;
    let rows = [];
    let next = null;
    let after;
    try {
      do {
        const page = await latest.current.load(next, shown.length - rows.length);
        rows = [...rows, ...page.rows];
        next = page.next;
      } while (next && rows.length < shown.length && turn === latest.current.turn);
      after = { rows, next, done: !next, loading: false, error: null };
    } catch (error) {
      after = { ...latest.current.state, loading: false, error };
    }
    if (turn === latest.current.turn) change(after);
  }, []);

  useEffect(() => {
    reload();
    return () => {
      latest.current.turn += 1;
    };
  }, keys);

  const seen = useRef(fresh);
  useEffect(() => {
    if (seen.current !== fresh && latest.current.load) refresh();
    seen.current = fresh;
  }, [fresh]);

  const setRows = useCallback((rows) => change({ ...latest.current.state, rows }), []);
  return { ...state, more, reload, refresh, setRows };
}
