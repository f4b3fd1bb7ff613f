/** A server's address in the one spelling in which addresses are kept and compared, or what is wrong with the text. */
export type ParsedServerUrl =
  | { readonly url: string }
  | { readonly problem: "invalid" }
  | { readonly problem: "credentials"; readonly host: string };

/**
 * Reads `https://host:port`, also with a path, a slash at the end, or `/jsonrpc`. `http+unix://` and the encoded path of a socket is for
 * clients whose `fetch` and `WebSocket` know it. `base` is what a relative address is relative to.
 */
export function readServerUrl(text: string, base?: string): ParsedServerUrl {
  const url = URL.canParse(text, base) ? new URL(text, base) : undefined;
  if (url === undefined || !/^(https?|http\+unix):$/.test(url.protocol)) return { problem: "invalid" };
  if (url.username !== "" || url.password !== "") return { problem: "credentials", host: url.host };
  return { url: `${url.protocol}//${url.host}${url.pathname}`.replace(/\/+$/, "").replace(/\/jsonrpc$/, "") };
}

/** Replaces credentials in an address, so that it can be shown. */
export function hideCredentials(text: string): string {
  return text.replace(/[^/]*@/, "…@");
}
