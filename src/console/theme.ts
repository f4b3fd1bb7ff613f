import { signal } from "@preact/signals";

/** Colour themes; `system` follows the operating system. */
export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

/** Cookie that the server reads in `http/console/theme.ts`. */
const cookieName = "node_server_theme";
const maxAgeSeconds = 365 * 24 * 60 * 60;

const root = document.documentElement;

/** Current theme. The server writes the stored choice into the page, so that the first paint is right. */
export const theme = signal<Theme>(themes.find((one) => one === root.dataset.theme) ?? "system");

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  if (chosen === "system") delete root.dataset.theme;
  else root.dataset.theme = chosen;
  // Browsers offer the Cookie Store API over https only. The path is this page's own: it is right behind a proxy, and no other
  // page of the server gets the cookie.
  const { pathname, protocol } = location;
  const seconds = chosen === "system" ? 0 : maxAgeSeconds;
  const secure = protocol === "https:" ? "; Secure" : "";
  document.cookie = `${cookieName}=${chosen}; Path=${pathname}; Max-Age=${seconds}; SameSite=Strict${secure}`;
}
