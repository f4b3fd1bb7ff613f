import { keyOfWholeToken, keyPattern } from "./credentials.ts";

/**
 * Characters that nobody sees: controls, format characters (zero-width and bidirectional ones among them), lone surrogates,
 * line separators, whatever Unicode lets a renderer ignore, and the blank Braille pattern.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
const allInvisible = new RegExp(invisible, "gu");

/** The reason why a new token cannot have this user name, whatever other tokens exist; undefined if it can. */
export function usernameProblem(name: string): string | undefined {
  if (name.includes("|")) return "must not hold `|`";
  if (invisible.test(name)) return "must not hold control characters or other invisible characters";
  if (name.trim() !== name) return "must not begin or end with white space";
  // A `target_token` of this form is taken for a whole token, so the user name would never be found.
  if (keyOfWholeToken(name) !== undefined) return "must not have the form of <key>:<secret>";
  if (keyPattern.test(name))
    return "must not have the form of a token key (16 letters and digits); add or remove a character";
  return undefined;
}

/**
 * Cyrillic and Greek letters, and the ASCII letter below each that UTS #39 (confusables.txt) counts as looking the same. Only
 * letters of another script are here: `0` and `O`, `1` and `l` stay different, because names such as `node1` are common.
 */
const lookAlikes = pairs(
  ["АВЕЅІЈКМНОРСТУХҮԌԚԜӀаеѕіјорсухүһԁԛԝӏг", "ABESIJKMHOPCTYXYGQWlaesijopcyxyhdqwlr"],
  ["ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορσυχ", "ABEZHIKMNOPTYXayikvopoux"],
  ["ıɑɡ", "iag"],
);

/**
 * The form in which two names that a reader takes for each other are equal: compatibility forms resolved (NFKC), invisible
 * characters dropped, look-alikes replaced, case folded, white space collapsed. For comparing only.
 */
export function usernameSkeleton(name: string): string {
  const visible = name.normalize("NFKC").replace(allInvisible, "");
  // Twice, because only the upper case of some letters is a look-alike (В and B), and only the lower case of others.
  return replaceLookAlikes(replaceLookAlikes(visible).toLowerCase())
    .replace(/([ij])\u0307/g, "$1")
    .replace(/\s+/g, " ")
    .trim();
}

function replaceLookAlikes(text: string): string {
  return [...text].map((letter) => lookAlikes.get(letter) ?? letter).join("");
}

function pairs(...rows: readonly (readonly [letters: string, ascii: string])[]): Map<string, string> {
  return new Map(
    rows.flatMap(([letters, ascii]) => [...letters].map((letter, at) => [letter, ascii[at] ?? letter])),
  );
}
