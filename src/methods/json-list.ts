import { nextTurn } from "../base/turns.ts";
import type { StreamedJson } from "../rpc/bodies.ts";

/** Items that are written at once, in a fifth of a millisecond. */
const itemsPerTurn = 500;
const comma = ",".charCodeAt(0);

/** JsonList is a long list as JSON. Other calls get the event loop while it is written, and while it is sent. */
export class JsonList implements StreamedJson {
  readonly isStreamedJson = true;
  readonly bytes: number;
  readonly heldBytes: number;
  readonly #texts: readonly Uint8Array[];

  private constructor(texts: readonly Uint8Array[]) {
    this.#texts = texts;
    this.bytes = texts.reduce((sum, { length }) => sum + length, 0);
    this.heldBytes = this.bytes;
  }

  static async of<T>(items: readonly T[], toValue: (item: T) => unknown): Promise<JsonList> {
    const texts: Uint8Array[] = [];
    for (let at = 0; at < items.length; at += itemsPerTurn) {
      const list = Buffer.from(JSON.stringify(items.slice(at, at + itemsPerTurn).map(toValue)));
      // The brackets between two parts become one comma.
      if (at > 0) list[0] = comma;
      const isLast = at + itemsPerTurn >= items.length;
      texts.push(isLast ? list : list.subarray(0, -1));
      await nextTurn();
    }
    return new JsonList(texts.length === 0 ? [Buffer.from("[]")] : texts);
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    yield* this.#texts;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
