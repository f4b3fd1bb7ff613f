import { codeOf, Fault, messageOf } from "../base/fault.ts";
import { readRegularFile } from "../base/local-fs/read-regular.ts";
import { createFile, type Ownership, replaceFile } from "../base/local-fs/replace-file.ts";

/** OnceForm is the one line of a file that is made once and never changed. */
export interface OnceForm {
  /** Names it in messages: `the server's UUID`. */
  readonly what: string;
  /** The same with an article: `a UUID`. */
  readonly contains: string;
  readonly form: RegExp;
}

/** `storeOnce` stores a line. Returns that of another process which has stored one meanwhile: both must have the same. */
export async function storeOnce(
  path: string,
  made: string,
  { ownership, ...form }: OnceForm & { readonly ownership: Ownership },
): Promise<string> {
  const text = `${made}\n`;
  try {
    await createFile(path, text, ownership);
    return made;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
  const known = await readOnce(path, form);
  // A link to nowhere has the name.
  if (known === undefined) await replaceFile(path, text, ownership);
  return known ?? made;
}

/** `readOnce` returns the line of such a file; undefined if there is none. */
export async function readOnce(
  path: string,
  { what, contains, form }: OnceForm,
): Promise<string | undefined> {
  let text: string;
  try {
    text = (await readRegularFile(path)).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw new Fault("IoError", `${what} in ${path} cannot be read: ${messageOf(error)}`, { path });
  }
  if (!form.test(text))
    throw new Fault("ParseError", `${path} does not contain ${contains}; delete it to get a new one`, {
      path,
    });
  return text;
}
