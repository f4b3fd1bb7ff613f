/**
 * Characters that nobody sees: controls, format characters (zero-width and bidirectional ones among them), lone surrogates,
 * line separators, whatever Unicode lets a renderer ignore, and the blank Braille pattern.
 */
export const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
const allInvisible = new RegExp(invisible, "gu");

/**
 * Cherokee letters and the ASCII letter that each looks like. Their lower case is small capitals of the same shapes, so it looks
 * like the same letters; HU alone only in lower case.
 */
const cherokee = {
  letters: "ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏳᏴ",
  ascii: "DRTiYAJEWMHYGhZbRWSVSLCPKdGB",
};

/**
 * Cyrillic, Greek, Armenian, Cherokee and Lisu letters, and the ASCII letter beside each that UTS #39 (confusables.txt) counts as
 * looking the same. What looks like a capital I is one here, where UTS #39 takes it for `l`. Only letters of another script are
 * here: `0` and `O`, `1` and `l` stay different, because names such as `node1` are common.
 */
const lookAlikes = pairs(
  ["АВЕЅІЈКМНОРСТУХҮԌԚԜӀаеѕіјорсухүһԁԛԝӏг", "ABESIJKMHOPCTYXYGQWlaesijopcyxyhdqwlr"],
  ["ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορσυχ", "ABEZHIKMNOPTYXayikvopoux"],
  ["ıɑɡ", "iag"],
  ["ՍՏՕագզհոռսցքօ", "USOwqqhnnugfo"],
  [cherokee.letters, cherokee.ascii],
  [`${cherokee.letters.toLowerCase()}ꮁ`, `${cherokee.ascii}r`],
  ["ꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ", "BPdDTGKJCZFMNLSRVHWXYAEIOU"],
);

/** Databases bound the length of what they index (PostgreSQL: about 2,700 bytes), and NFKC makes one character up to 18. */
const maxSkeletonBytes = 1000;

/**
 * The form in which two names that a reader takes for each other are equal: compatibility forms resolved (NFKC), invisible
 * characters dropped, look-alikes replaced, case folded, white space collapsed. For comparing only. The database keeps it
 * beside each name, so a change here needs a migration that makes them all anew.
 */
export function skeletonOf(name: string): string {
  const visible = name.normalize("NFKC").replace(allInvisible, "");
  // Twice, because only the upper case of some letters is a look-alike (В and B), and only the lower case of others.
  const lower = replaceLookAlikes(visible).toLowerCase().replaceAll("ς", "σ");
  const skeleton = replaceLookAlikes(lower)
    .replace(/([ij])\u0307/g, "$1")
    .replace(/\s+/g, " ")
    .trim();
  return Buffer.byteLength(skeleton) <= maxSkeletonBytes ? skeleton : `sha256 ${hashOf(skeleton)}`;
}

function hashOf(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

function replaceLookAlikes(text: string): string {
  return [...text].map((letter) => lookAlikes.get(letter) ?? letter).join("");
}

function pairs(...rows: readonly (readonly [letters: string, ascii: string])[]): Map<string, string> {
  return new Map(
    rows.flatMap(([letters, ascii]) => [...letters].map((letter, at) => [letter, ascii[at] ?? letter])),
  );
}
