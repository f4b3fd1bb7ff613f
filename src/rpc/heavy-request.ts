import { Fault } from "../base/fault.ts";

/**
 * `maxOpenStructure` limits the brackets, braces and commas of a large request whose caller has not proven a token. To parse ten
 * megabytes of `[{},{},…` takes half a second and 300 MB; a large text or base64 costs next to nothing.
 */
export const maxOpenStructure = 128 * 1024;

/** Characters that are counted in one turn of the event loop. */
const turnChars = 1024 * 1024;

/** Params in which methods take the caller's token; the first positional param is one too. */
const tokenParams = ['"token"', '"father_token"', '"supertoken"', '"params"'];
/** Texts that are tried as tokens. */
const maxTokens = 4;
const maxTokenChars = 4096;

/** `countStructure` counts the brackets, braces and commas in a text, and stops above `maxOpenStructure`. */
export async function countStructure(text: string, pause: () => Promise<void>): Promise<number> {
  let structure = 0;
  for (let at = 0; at < text.length; at += turnChars) {
    if (at > 0) await pause();
    structure += structureIn(text, at, Math.min(at + turnChars, text.length));
    if (structure > maxOpenStructure) break;
  }
  return structure;
}

/**
 * `isShallow` is whether a text has at most `max` brackets, braces and commas. Of a long text with few of them it costs next to
 * nothing.
 */
export function isShallow(text: string, max: number): boolean {
  let found = 0;
  for (const character of ",[{")
    for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1))
      if (++found > max) return false;
  return true;
}

/** `structureIn` counts the brackets, braces and commas in a part of a text. */
export function structureIn(text: string, from: number, to: number): number {
  let found = 0;
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    // , [ {
    if (code === 0x2c || code === 0x5b || code === 0x7b) found += 1;
  }
  return found;
}

/** `findRefusal` returns why a heavy request is not parsed; undefined if `admit` accepts the token of its header, or a text in it that may be one. */
export async function findRefusal(
  { text, bearer }: { readonly text: string; readonly bearer: string | undefined },
  admit: (token: string) => Promise<unknown>,
): Promise<Fault | undefined> {
  let refusal = new Fault(
    "RequestTooBig",
    `a request with more than ${maxOpenStructure} values needs a valid token; send fewer values, or add the token`,
    { limit: maxOpenStructure },
  );
  for (const token of [...(bearer === undefined ? [] : [bearer]), ...tokensIn(text)]) {
    try {
      await admit(token);
      return undefined;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      refusal = error;
    }
  }
  return refusal;
}

/** Texts at the places of a token, found without parsing. */
function tokensIn(text: string): string[] {
  const found = new Set<string>();
  for (const param of tokenParams) {
    let at = text.indexOf(param);
    for (let tries = 0; at !== -1 && tries < maxTokens && found.size < maxTokens; tries += 1) {
      const token = tokenAfter(text, at + param.length);
      if (token !== undefined) found.add(token);
      at = text.indexOf(param, at + param.length);
    }
  }
  return [...found];
}

function tokenAfter(text: string, at: number): string | undefined {
  const [, literal] =
    /^\s*:\s*(?:\[\s*)?("(?:[^"\\]|\\.)*")/.exec(text.slice(at, at + maxTokenChars + 100)) ?? [];
  if (literal === undefined) return undefined;
  try {
    return String(JSON.parse(literal));
  } catch {
    // Not a JSON text, so not a token.
    return undefined;
  }
}
