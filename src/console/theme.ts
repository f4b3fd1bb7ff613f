import { signal } from "@preact/signals";

/** The colours a person can choose; `system` follows the operating system. */
export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

/** The name that the server reads, in `http/console/theme.ts`. */
const cookieName = "node_server_theme";
const keptSeconds = 365 * 24 * 60 * 60;

const root = document.documentElement;

/** The theme in use. The server has written a choice from before into the page, so that the first paint is right. */
export const theme = signal<Theme>(themes.find((one) => one === root.dataset.theme) ?? "system");

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen;
  if (chosen === "system") delete root.dataset.theme;
  else root.dataset.theme = chosen;
  // Written by hand, because browsers have the Cookie Store API over https alone. The path is this page's own, so that it is
  // right behind a proxy too and no other page of the server gets the cookie.
  const { pathname, protocol } = location;
  const seconds = chosen === "system" ? 0 : keptSeconds;
  const secure = protocol === "https:" ? "; Secure" : "";
  document.cookie = `${cookieName}=${chosen}; Path=${pathname}; Max-Age=${seconds}; SameSite=Strict${secure}`;
}
