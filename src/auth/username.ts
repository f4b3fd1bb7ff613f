import { invisible } from "../base/visible-text.ts";
import { keyOfWholeToken, keyPattern } from "./credentials.ts";

/** Characters of which nobody knows what they look like elsewhere. */
const unassigned = /[\p{Co}\p{Cn}]/u;

/** The reason why a new token cannot have this user name, whatever other tokens exist; undefined if it can. */
export function usernameProblem(name: string): string | undefined {
  const problem = characterProblem(name);
  if (problem !== undefined) return problem;
  if (mixesScripts(name))
    return "must not mix writing systems, such as Latin and Cyrillic; write it in one of them";
  // A `target_token` of this form is taken for a whole token, so the user name would never be found.
  if (keyOfWholeToken(name) !== undefined) return "must not have the form of <key>:<secret>";
  if (keyPattern.test(name))
    return "must not have the form of a token key (16 letters and digits); add or remove a character";
  return undefined;
}

/**
 * The reason why a token cannot have this text as its name; undefined if it can. The name is a label: nothing is looked up by it, so
 * it may equal others and mix writing systems.
 */
export function labelProblem(name: string): string | undefined {
  if (keyOfWholeToken(name) !== undefined)
    return "must not be a token: it is shown to everyone who can list the tokens";
  return characterProblem(name);
}

function characterProblem(name: string): string | undefined {
  if (invisible.test(name)) return "must not contain control characters or other invisible characters";
  if (unassigned.test(name)) return "must not contain unassigned or private-use Unicode characters";
  return name.trim() === name ? undefined : "must not begin or end with white space";
}

/** Writing systems by their ISO 15924 codes, each of which a name is written in alone. */
const alone =
  "Latn Arab Armn Beng Cher Copt Cyrl Deva Ethi Geor Grek Gujr Guru Hebr Khmr Knda Laoo Lisu Mlym Mymr Orya Sinh Taml Telu Thaa Thai Tibt".split(
    " ",
  );
/** Those that one language uses together: Japanese, Chinese and Korean, beside which Latin letters are common. */
const together = ["Latn Hani Hira Kana", "Latn Hani Bopo", "Latn Hani Hang"].map((codes) => codes.split(" "));

const mixes = [...alone.map((code) => [code]), ...together].map((codes) => {
  const classes = [...codes, "Zyyy", "Zinh"].map((code) => `\\p{scx=${code}}`);
  return new RegExp(`^[${classes.join("")}]*$`, "u");
});

/** Names in one of the writing systems that are not listed above. */
const unlisted = new RegExp(
  `^[^${[...alone, ...together.flat()].map((code) => `\\p{sc=${code}}`).join("")}]*$`,
  "u",
);

/**
 * Whether a text mixes writing systems that nobody mixes except to deceive, such as Latin and Cyrillic. As "highly restrictive"
 * in UTS #39. Digits, punctuation and symbols belong to all of them.
 */
function mixesScripts(text: string): boolean {
  const plain = text.normalize("NFKC");
  return !unlisted.test(plain) && !mixes.some((mix) => mix.test(plain));
}
