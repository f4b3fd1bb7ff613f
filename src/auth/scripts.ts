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
export function mixesScripts(text: string): boolean {
  const plain = text.normalize("NFKC");
  return !unlisted.test(plain) && !mixes.some((mix) => mix.test(plain));
}
