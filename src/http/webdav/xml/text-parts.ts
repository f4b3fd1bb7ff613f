/**
 * TextParts collects what is sent as one piece. Texts are joined once: to append each to the one before would make thousands of
 * strings for one piece, which the garbage collector has to find again.
 */
export class TextParts {
  readonly #texts: string[] = [];
  readonly #done: Array<string | Uint8Array> = [];
  #length = 0;

  /** Characters and bytes that were added since the last `take`. */
  get length(): number {
    return this.#length;
  }

  add(text: string): void {
    this.#texts.push(text);
    this.#length += text.length;
  }

  /** Adds text that is encoded already. */
  addBytes(bytes: Uint8Array): void {
    this.#join();
    this.#done.push(bytes);
    this.#length += bytes.length;
  }

  /** Everything since the last call, in its order. */
  take(): Array<string | Uint8Array> {
    this.#join();
    this.#length = 0;
    return this.#done.splice(0);
  }

  #join(): void {
    if (this.#texts.length > 0) this.#done.push(this.#texts.join(""));
    this.#texts.length = 0;
  }
}
