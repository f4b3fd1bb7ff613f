/** The second that was written last. */
let known = { second: Number.NaN, text: "" };

/** `httpDate` writes a time in Unix milliseconds for an HTTP header: RFC 9110 §5.6.7. */
export function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000);
  // One file is requested again and again, and the files of a folder are often of the same second.
  if (second !== known.second) known = { second, text: new Date(second * 1000).toUTCString() };
  return known.text;
}
