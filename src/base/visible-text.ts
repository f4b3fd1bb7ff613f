/**
 * Control and format characters, line separators and lone surrogates: a terminal obeys them, reorders text by them, or hides them.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** A text of nothing but letters, digits and signs of ASCII. */
const printable = /^[\x20-\x7e]*$/;

/** `visible` escapes the characters by which a text could change what a terminal shows, as `\n`, `\t` or `\u{1b}`. */
export function visible(text: string): string {
  // Most texts have none, and this search takes a tenth of the one below.
  if (printable.test(text)) return text;
  return text.replace(unsafe, (character) => {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}

/** `visibleLines` does the same for a text of several lines: line ends and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(/[^\n\t]+/g, visible);
}

/**
 * `invisible` matches characters without a visible shape: controls, format characters (zero-width and bidirectional ones among
 * them), lone surrogates, line separators, all that Unicode lets a renderer ignore, and the blank Braille pattern.
 */
export const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
const allInvisible = new RegExp(invisible, "gu");

/**
 * Cherokee letters, each with the ASCII letter that looks like it. Their lower case has the same shapes as small capitals; HU is a
 * look-alike only in lower case.
 */
const cherokee = {
  letters: "ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏧᏳᏴ",
  ascii: "DRTiYAJEWMHYGhZbRWSVSLCPKdGB",
};

/**
 * Cyrillic, Greek, Armenian, Cherokee and Lisu letters, each with the ASCII letter that looks the same according to UTS #39
 * (confusables.txt). Letters that look like a capital I are mapped to it, where UTS #39 maps them to `l`. Only letters of another
 * script are listed: `0` and `O`, `1` and `l` stay different, because names such as `node1` are common.
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

/**
 * The longest skeleton that is stored as it is: databases limit the length of indexed values (PostgreSQL: about 2,700 bytes), and
 * NFKC turns one character into up to 18.
 */
const maxSkeletonBytes = 1000;

/**
 * `skeletonOf` maps names that a reader may mistake for each other to the same text: compatibility forms resolved (NFKC), invisible
 * characters dropped, look-alikes replaced, case folded, white space collapsed. Only for comparisons. The database stores it beside
 * each name, so a change here needs a migration that computes all of them again.
 */
export function skeletonOf(name: string): string {
  const visible = name.normalize("NFKC").replace(allInvisible, "");
  // Twice, because some letters are look-alikes only in upper case (В and B), others only in lower case.
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
