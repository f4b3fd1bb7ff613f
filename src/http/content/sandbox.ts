type Headers = Readonly<Record<string, string>>;

/**
 * sandboxed adds a sandbox to the headers of content that a browser would run: HTML, SVG, XML. It is for addresses where a page
 * of a bucket must not run in the server's origin.
 */
export function sandboxed(headers: Headers): Headers {
  const isActive = /^(?:text\/html|application\/xhtml|image\/svg|text\/xml|application\/(?:.+\+)?xml)/.test(
    headers["content-type"] ?? "",
  );
  if (!isActive) return headers;
  const own = headers["content-security-policy"];
  // Two policies in one header are both enforced.
  return { ...headers, "content-security-policy": own === undefined ? "sandbox" : `sandbox, ${own}` };
}
