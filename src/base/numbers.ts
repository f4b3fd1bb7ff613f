// Numbers in texts that others send: headers, cookies, XML. `Number` makes NaN of some of them, which passes every bound that is
// written as `value > max`. These functions never return NaN.

/**
 * wholeNumber reads a text that consists of digits; undefined for any other. A number that is too large to be exact counts as the
 * largest exact one, so that it is above every bound.
 */
export function wholeNumber(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || !/^\d+$/.test(text)) return undefined;
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

/** hexNumber reads up to eight hexadecimal digits; undefined for any other text. */
export function hexNumber(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || !/^[0-9a-fA-F]{1,8}$/.test(text)) return undefined;
  return Number.parseInt(text, 16);
}

/** decimalNumber reads digits with a sign and a fraction, if it has them (`-12.5`); undefined for any other text. */
export function decimalNumber(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || !/^-?\d{1,20}(?:\.\d{0,20})?$/.test(text)) return undefined;
  return Number(text);
}

/** qualityIn reads the weight of an item of an Accept header from its parameters; 0 if it is not a weight. RFC 9110 §12.4.2. */
export function qualityIn(params: readonly string[]): number {
  const weight = params.find((param) => param.startsWith("q="))?.slice(2);
  if (weight === undefined) return 1;
  return Math.min(Math.max(decimalNumber(weight) ?? 0, 0), 1);
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** Random bytes at or above this would make the first letters of the alphabet likelier, so they are skipped. */
const fair = 256 - (256 % alphabet.length);

/** `randomText` returns letters and digits from the system's random source, each equally likely. */
export function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length * 2))) {
      if (byte < fair && text.length < length) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}
