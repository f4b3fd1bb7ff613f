import { en, type TextGroup } from "./en/index.ts";
import { zh } from "./zh/index.ts";

interface LanguageRow {
  /** Its own name, for the menu. */
  readonly name: string;
  /** Attribute `lang` of the page. */
  readonly html: string;
  /** For numbers and times. */
  readonly locale: string;
  /** Between the parts of a list, and between sentences. */
  readonly comma: string;
  readonly gap: string;
  readonly texts: Readonly<Record<TextGroup, () => Promise<unknown>>>;
}

/** Every language, in the order of the menu. A new one is a row here and a folder of texts beside `en/`. */
export const languageRows = {
  en: { name: "English", html: "en", locale: "en-GB", comma: ", ", gap: " ", texts: en },
  zh: { name: "中文", html: "zh-Hans", locale: "zh-CN", comma: "、", gap: "", texts: zh },
} as const satisfies Readonly<Record<string, LanguageRow>>;

export type Language = keyof typeof languageRows;
export const languages = Object.keys(languageRows) as readonly Language[];

export type { TextGroup };
export const textGroups = Object.keys(en) as readonly TextGroup[];

/** Texts of a group. Every language has the same keys: a missing or misspelt one does not compile. */
export type Texts = { readonly [G in TextGroup]: Awaited<ReturnType<(typeof en)[G]>> };

/** The first language of the browser that the console has; English if it has none of them. */
export function preferred(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const found = languages.find((one) => tag.toLowerCase().split("-", 1)[0] === one);
    if (found !== undefined) return found;
  }
  return "en";
}
