import { StringDecoder } from "node:string_decoder";
import type { TerminalOutput } from "../log/terminal.ts";

/** A line that is longer is passed on in pieces. */
const maxLineChars = 1024 * 1024;

/** LineMerger passes on what several processes write, in whole lines. */
export class LineMerger {
  readonly #output: TerminalOutput;

  constructor(output: TerminalOutput) {
    this.#output = output;
  }

  /** Passes on the lines of one process. Resolves at the end of its output. */
  async pass(stream: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new StringDecoder("utf8");
    let rest = "";
    for await (const { buffer, byteOffset, byteLength } of stream) {
      rest += decoder.write(Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength));
      const end = rest.length > maxLineChars ? rest.length : rest.lastIndexOf("\n") + 1;
      if (end > 0) this.#output.write(rest.slice(0, end));
      rest = rest.slice(end);
    }
    if (rest !== "") this.#output.write(`${rest}\n`);
  }
}
