/** First 32 bits of the fractional parts of a root of the first primes (FIPS 180-4 §4.2.2, §5.3.3). */
function fractions(count: number, root: number): Uint32Array {
  const found: number[] = [];
  for (let candidate = 2; found.length < count; candidate += 1) {
    let isPrime = true;
    for (let factor = 2; factor * factor <= candidate; factor += 1) isPrime &&= candidate % factor !== 0;
    if (isPrime) found.push(Math.floor((candidate ** (1 / root) % 1) * 2 ** 32));
  }
  return Uint32Array.from(found);
}

const constants = fractions(64, 3);
const initial = fractions(8, 2);
const blockBytes = 64;

/**
 * Sha256 hashes content piece by piece. The browser's own `crypto.subtle` takes a whole file in memory, and does not exist where the
 * console is opened over plain http.
 */
export class Sha256 {
  readonly #state = initial.slice();
  readonly #schedule = new Uint32Array(64);
  readonly #block = new Uint8Array(blockBytes);
  #held = 0;
  #length = 0;

  update(bytes: Uint8Array): this {
    this.#length += bytes.length;
    let at = 0;
    if (this.#held > 0) {
      at = Math.min(blockBytes - this.#held, bytes.length);
      this.#block.set(bytes.subarray(0, at), this.#held);
      this.#held += at;
      if (this.#held < blockBytes) return this;
      this.#mix(this.#block, 0);
      this.#held = 0;
    }
    for (; at + blockBytes <= bytes.length; at += blockBytes) this.#mix(bytes, at);
    this.#block.set(bytes.subarray(at));
    this.#held = bytes.length - at;
    return this;
  }

  /** Ends the hash, and returns it in hexadecimal. */
  digest(): string {
    const bits = this.#length * 8;
    const padding = new Uint8Array((this.#held < 56 ? 64 : 128) - this.#held);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits >>> 0);
    this.update(padding);
    return [...this.#state].map((word) => word.toString(16).padStart(8, "0")).join("");
  }

  #mix(bytes: Uint8Array, start: number): void {
    const schedule = this.#schedule;
    for (let at = 0; at < 16; at += 1) {
      const from = start + at * 4;
      schedule[at] =
        ((bytes[from] ?? 0) << 24) |
        ((bytes[from + 1] ?? 0) << 16) |
        ((bytes[from + 2] ?? 0) << 8) |
        (bytes[from + 3] ?? 0);
    }
    for (let at = 16; at < 64; at += 1) {
      const [early, late] = [schedule[at - 15] ?? 0, schedule[at - 2] ?? 0];
      const small = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
      const large = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
      schedule[at] = ((schedule[at - 16] ?? 0) + small + (schedule[at - 7] ?? 0) + large) | 0;
    }
    const state = this.#state;
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
    for (let at = 0; at < 64; at += 1) {
      const chosen = (e & f) ^ (~e & g);
      const one =
        (h +
          (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
          chosen +
          (constants[at] ?? 0) +
          (schedule[at] ?? 0)) |
        0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    for (const [at, added] of [a, b, c, d, e, f, g, h].entries()) state[at] = ((state[at] ?? 0) + added) | 0;
  }
}

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
