// Preact, its hooks and htm are plain scripts of page.html: their modules import by bare names, for which the
// Content-Security-Policy leaves no place.
const { preact, preactHooks, htm } = globalThis;

export const { h, render, Fragment, Component, createContext, createRef } = preact;
export const {
  useState,
  useEffect,
  useLayoutEffect,
  useRef,
  useMemo,
  useCallback,
  useContext,
  useReducer,
  useId,
  useErrorBoundary,
} = preactHooks;

/** The tag of templates: html`<p class="quiet">${text}</p>`. */
export const html = htm.bind(h);
