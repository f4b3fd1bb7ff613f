import { isUtf8 } from "node:buffer";
import { type Position, positionAt } from "./locate.ts";
import { ConfigFault, type Problem, type Source } from "./problem.ts";

/** Control characters that TOML does not allow, and halves of surrogate pairs, which UTF-8 cannot represent. */
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\p{Surrogate}]/u;

/** `forbiddenCharacter` finds the first character that no configuration may contain; undefined if there is none. */
export function forbiddenCharacter({ text, file }: Pick<Source, "text" | "file">): Problem | undefined {
  const found = forbidden.exec(text);
  if (found === null) return undefined;
  const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return {
    ...(file === undefined ? {} : { file }),
    ...positionAt(text, found.index),
    why: `the character U+${code} here is not allowed in TOML; remove it`,
  };
}

/** `decodeConfig` decodes a configuration file as UTF-8. Throws ConfigFault with the position of the first invalid byte. */
export function decodeConfig(bytes: Buffer, file: string): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const why = "this is not UTF-8; save the file in the encoding UTF-8";
  throw new ConfigFault([{ file, ...firstInvalid(bytes), why }]);
}

/**
 * `firstInvalid` finds the first character that does not encode to the same bytes: the decoder replaces invalid bytes by U+FFFD.
 */
function firstInvalid(bytes: Buffer): Position {
  const text = bytes.toString("utf8");
  let offset = 0;
  let at = 0;
  for (const character of text) {
    const encoded = Buffer.from(character);
    if (!bytes.subarray(at, at + encoded.length).equals(encoded)) break;
    at += encoded.length;
    offset += character.length;
  }
  return positionAt(text, offset);
}
