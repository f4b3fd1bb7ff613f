import type { Language } from "./language.ts";

const plurals = new Intl.PluralRules("en");
const numbers: Readonly<Record<Language, Intl.NumberFormat>> = {
  en: new Intl.NumberFormat("en"),
  zh: new Intl.NumberFormat("zh"),
};

/** `1,234` in the way of a language. */
export function numberIn(language: Language, value: number): string {
  return numbers[language].format(value);
}

/** `1 file`, `1,234 files`, by the plural rules of English. Chinese nouns have one form and need only `numberIn`. */
export function counted(count: number, forms: { readonly one: string; readonly other: string }): string {
  return `${numberIn("en", count)} ${plurals.select(count) === "one" ? forms.one : forms.other}`;
}
