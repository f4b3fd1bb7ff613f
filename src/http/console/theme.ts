/** Written by the console's page, in `src/console/theme.ts`. */
const cookieName = "node_server_theme";

/**
 * chosenTheme returns the theme that was chosen in the console, for the page's first paint; undefined if the system decides.
 * Scripts of any page of this origin can write the cookie, so only the two known values are accepted.
 */
export function chosenTheme({ headers }: Request): "light" | "dark" | undefined {
  const value = new Bun.CookieMap(headers.get("cookie") ?? "").get(cookieName);
  return value === "light" || value === "dark" ? value : undefined;
}
