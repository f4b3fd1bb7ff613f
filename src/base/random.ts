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
