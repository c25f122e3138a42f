import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib/preact.js";
import { fullDay, number, plural } from "../lib/format.js";
import { Button } from "./button.js";
import { Icon } from "./icons.js";
import { ErrorNotice } from "./notice.js";

const NEAR_PX = 48;
const MAX_TEXT = 32_000;

/** A list of messages that grows at its end and loads older ones as one scrolls up.
 *
 * `items` are [{id, message?, ...}] and `item(it)` draws one, again only if its message or the function is another; the
 * days of their messages stand between them; `older` is {load, done, loading, error}. It stays at its end while the
 * reader is there; else a button tells how many are new. `said` is read out to screen readers when it changes; `to` is
 * the id of an item to show once it is there.
 */
export function MessageList({ label, items, item, older, said = "", to = null, empty }) {
  const frame = useRef(null);
  const seen = useRef({ first: null, last: null, height: 0, atEnd: true, shown: null });
  const [fresh, setFresh] = useState(0);
  const rows = useRows(items, item, to);

  const isAtEnd = () => {
    const { scrollHeight, scrollTop, clientHeight } = frame.current;
    return scrollHeight - scrollTop - clientHeight < NEAR_PX;
  };
  const onScroll = () => {
    seen.current.atEnd = isAtEnd();
    if (seen.current.atEnd) setFresh(0);
  };
  const toEnd = () => {
    frame.current.scrollTop = frame.current.scrollHeight;
  };

  useLayoutEffect(() => {
    const { first, last, height, atEnd, shown } = seen.current;
    const now = frame.current.scrollHeight;
    const lastNow = items.at(-1)?.id ?? null;
    if (to !== null && shown !== to && items.some(({ id }) => id === to)) {
      frame.current.querySelector(`[data-id="${CSS.escape(to)}"]`)?.scrollIntoView({ block: "center" });
      Object.assign(seen.current, { shown: to, atEnd: isAtEnd() });
    } else if (atEnd) toEnd();
    else if (first !== null && items[0]?.id !== first && last === lastNow) frame.current.scrollTop += now - height;
    if (!seen.current.atEnd && last !== null && last !== lastNow) {
      const at = items.findIndex(({ id }) => id === last);
      setFresh((count) => count + (at < 0 ? 1 : items.length - 1 - at));
    }
    Object.assign(seen.current, { first: items[0]?.id ?? null, last: lastNow, height: now });
  }, [items, to]);

  useEffect(() => {
    const resized = new ResizeObserver(() => seen.current.atEnd && toEnd());
    resized.observe(frame.current);
    return () => resized.disconnect();
  }, []);

  return html`<div class="messages-frame">
    <div class="messages" role="log" aria-live="off" aria-label=${label} tabindex="0" ref=${frame} onScroll=${onScroll}>
      <${Older} older=${older} frame=${frame} none=${items.length === 0} />
      ${items.length === 0 && older.done && empty}
      ${rows}
    </div>
    ${fresh > 0 && html`<${Button} class="messages-new" kind="primary" size="small" icon="down" onClick=${toEnd}>
      ${fresh === 1 ? "1 new message" : `${fresh} new messages`}<//>`}
    <div class="offscreen" aria-live="polite">${said}</div>
  </div>`;
}

/** Draw the items, but none anew whose message is as before: a long list changes with each piece of a reply. */
function useRows(items, item, to) {
  const drawn = useRef(new Map());
  const days = useMemo(() => withDays(items), [items]);
  return useMemo(() => {
    const before = drawn.current;
    drawn.current = new Map();
    return days.map((it) => {
      if (it.day) return html`<p key=${it.id} class="messages-day"><span>${it.day}</span></p>`;
      const isFound = it.id === to;
      const kept = before.get(it.id);
      const isSame = it.message && kept?.message === it.message && kept.item === item && kept.isFound === isFound;
      const row = isSame ? kept.row
        : html`<div key=${it.id} class=${isFound ? "messages-item found" : "messages-item"} data-id=${it.id}>${item(it)}</div>`;
      drawn.current.set(it.id, { message: it.message, item, isFound, row });
      return row;
    });
  }, [days, item, to]);
}

/** Put the day before the first message of each day, but not before the first message of all if that is of today. */
function withDays(items) {
  const today = new Date().toDateString();
  let last = today;
  return items.flatMap((it) => {
    const at = it.message?.at && new Date(it.message.at);
    if (!at || at.toDateString() === last) return [it];
    last = at.toDateString();
    return [{ id: `day ${last}`, day: last === today ? "Today" : fullDay(at) }, it];
  });
}

/** The beginning of the list: it loads what is older once it comes into view. */
function Older({ older, frame, none }) {
  const place = useRef(null);
  const { done, loading, error } = older;
  useEffect(() => {
    if (done || loading || error) return undefined;
    const watch = new IntersectionObserver(([entry]) => entry.isIntersecting && older.load(), {
      root: frame.current,
      rootMargin: "300px 0px 0px 0px",
    });
    watch.observe(place.current);
    return () => watch.disconnect();
  }, [done, loading, error]);
  return html`<div class="messages-older" ref=${place}>
    ${error && html`<${ErrorNotice} error=${error} retry=${older.load} />`}
    ${loading && html`<p class="quiet" role="status"><span class="spinner" aria-hidden="true"></span>Loading messages</p>`}
    ${done && !none && html`<p class="fine">This is the beginning.</p>`}
  </div>`;
}

/** A field for a message, with its button: Enter sends, Shift and Enter makes a line.
 *
 * onSend(text) may refuse with false. `keys(event)` sees keys first; the field's element is in `field.current`, `about`
 * are further attributes of it. Where nothing can be sent, `closed` says why.
 */
export function Composer({ label, text, onText, onSend, field, keys, about = {}, closed = null, placeholder, children }) {
  const own = useRef(null);
  const area = field ?? own;
  const over = text.length > MAX_TEXT ? [...text].length - MAX_TEXT : 0;
  const isReady = text.trim() !== "" && over <= 0 && !closed;
  const send = () => {
    if (isReady && onSend(text) !== false) onText("");
    area.current.focus();
  };
  const onKeyDown = (event) => {
    if (keys?.(event)) return;
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  useLayoutEffect(() => {
    area.current.style.height = "auto";
    area.current.style.height = `${Math.min(area.current.scrollHeight + 2, 240)}px`;
  }, [text]);
  return html`<div class="composer">
    <div class="composer-row">
      <textarea ref=${area} rows="1" aria-label=${label} value=${text} placeholder=${closed || placeholder} disabled=${Boolean(closed)}
        ...${about} onInput=${(event) => onText(event.currentTarget.value)} onKeyDown=${onKeyDown}></textarea>
      <button type="button" class="button primary icon-only" aria-label="Send" disabled=${!isReady} onClick=${send}>
        <${Icon} name="send" />
      </button>
    </div>
    ${over > 0 && html`<p class="field-error" role="status">${plural(over, "character")} too long: a message has up to ${number(MAX_TEXT)}.</p>`}
    <div class="composer-foot">${children}<span class="fine not-on-phone">Enter sends, Shift+Enter makes a line.</span></div>
  </div>`;
}
