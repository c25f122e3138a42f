import { html } from "../lib/preact.js";

/** The address of the gateway's icon. */
export const LOGO = new URL("../icon.svg", import.meta.url).href;

// Lines on a grid of 16, drawn with the colour of the text.
const PATHS = {
  home: "M2.5 7.5 8 3l5.5 4.5V13a.5.5 0 0 1-.5.5H10V10H6v3.5H3a.5.5 0 0 1-.5-.5z",
  chat: "M2.5 4a1 1 0 0 1 1-1h9a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1H7l-3 2.5V11h-.5a1 1 0 0 1-1-1zM5.5 6h5M5.5 8.2h3",
  zones: "M6.2 2.5 4.8 13.5M11.2 2.5 9.8 13.5M3 6h10.5M2.5 10H13",
  agents: "M3.5 6a1 1 0 0 1 1-1h7a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1zM8 5V2.5M6.2 8.2v.9M9.8 8.2v.9M6.5 11h3M2 8.5v2M14 8.5v2",
  domains: "M8 2.5 13.5 5 8 7.5 2.5 5zM2.5 8 8 10.5 13.5 8M2.5 11 8 13.5 13.5 11",
  banks: "M3 4.2C3 3.2 5.2 2.5 8 2.5s5 .7 5 1.7v7.6c0 1-2.2 1.7-5 1.7s-5-.7-5-1.7zM3 4.2C3 5.2 5.2 6 8 6s5-.8 5-1.8M3 8c0 1 2.2 1.8 5 1.8S13 9 13 8",
  explorer: "M2.5 4a1 1 0 0 1 1-1h9a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1zM5 6.2 7 8 5 9.8M8.5 10H11",
  webhooks: "M8 5.5a2 2 0 1 0-1.7-1M8 5.5 5.3 10M5.3 10a2 2 0 1 1-2-1M5.3 11h5M10.3 11a2 2 0 1 0 1-1.7M11.3 9.3 8.7 5",
  keys: "M10 2.5a3.5 3.5 0 1 1-2.9 5.450L3 12v1.5h2V12h1.5v-1.5L8 9M10.8 5.2v.1",
  live: "M1.8 8.5h3L6.5 4l3 8.5 1.7-4h3",
  actors: "M8 2.5 12.8 5.2v5.6L8 13.5 3.2 10.8V5.2zM3.2 5.2 8 8l4.8-2.8M8 8v5.5",
  graph: "M4 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M12 7.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M6 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3M5.4 4.5 10.6 5.7M4.4 5.5 5.6 10.5M7 11l4-4",
  users: "M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6M1.8 13c.300-2.4 2-3.7 4.2-3.7s3.9 1.3 4.2 3.7M10.5 3.1a2.3 2.3 0 0 1 0 4.2M12 9.7c1.3.600 2.1 1.7 2.3 3.3",
  audit: "M4 2.5h6L12.5 5v8a.5.5 0 0 1-.5.5H4a.5.5 0 0 1-.5-.5V3a.5.5 0 0 1 .5-.5M6 7.5h4M6 10h4M9.5 2.5V5.5h3",
  copy: "M6 5.5h6.5V13H6zM4 10.5H3.5V3H10v.5",
  check: "m3 8.5 3.2 3L13 4.5",
  plus: "M8 3v10M3 8h10",
  close: "m4 4 8 8M12 4l-8 8",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M10.3 10.3l3.2 3.2",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  down: "m4 6 4 4 4-4",
  right: "m6 4 4 4-4 4",
  left: "m10 4-4 4 4 4",
  user: "M8 7.5A2.5 2.5 0 1 0 8 2.5a2.5 2.5 0 0 0 0 5M3 13.5c.300-2.7 2.3-4 5-4s4.7 1.3 5 4",
  sun: "M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M3.6 12.4l1-1M11.4 4.6l1-1",
  moon: "M13.2 9.7A5.7 5.7 0 0 1 6.3 2.8a5.7 5.7 0 1 0 6.9 6.9",
  system: "M2.5 3.5h11v7.5h-11zM6 13.5h4M8 11v2.5",
  logoff: "M9.5 3h-6v10h6M7 8h7M11.5 5.5 14 8l-2.5 2.5",
  refresh: "M13 3.5v3h-3M13 6.5A5.3 5.3 0 1 0 13.3 9",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 7.5V11M8 5v.1",
  alert: "M8 2.5 14 13H2zM8 6.5v3M8 11.3v.1",
  send: "M2.5 8 13.5 3 10 13.5 7.5 9zM7.5 9l6-6",
  external: "M9 3h4v4M13 3 7.5 8.5M11 9.5V13H3V5h3.5",
  stop: "M4 4h8v8H4z",
  play: "M5 3.5 12.5 8 5 12.5z",
  download: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  trash: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M6.8 7v4M9.2 7v4",
};

/** A small picture beside words; it says nothing to screen readers. */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
    <path d=${PATHS[name]} />
  </svg>`;
}
