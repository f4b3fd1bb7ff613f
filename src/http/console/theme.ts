/** The name that the console's page writes, in `console/theme.ts`. */
const cookieName = "node_server_theme";

/**
 * The theme that a person chose in the console, for the page's first paint; undefined while the system decides. Scripts of any
 * page of this origin can write the cookie, so nothing but the two known values is taken from it.
 */
export function chosenTheme({ headers }: Request): "light" | "dark" | undefined {
  const value = new Bun.CookieMap(headers.get("cookie") ?? "").get(cookieName);
  return value === "light" || value === "dark" ? value : undefined;
}
