// Every view has an address: the part after `#`, with the reader's picks as its query.
import { useEffect, useState } from "./view.js";

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), query: Object.fromEntries(new URLSearchParams(query)) };
}

export function href(parts, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(kept).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export const go = (parts, query) => { location.hash = href(parts, query); };

// Changes picks in place: the way back leads to the page before, not through every pick.
export function pick(changes) {
  const { parts, query } = parse(location.hash);
  history.replaceState(null, "", href(parts, { ...query, ...changes }));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute() {
  const [route, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => set(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
