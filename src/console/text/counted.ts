const numbers = new Map<string, Intl.NumberFormat>();

/** `1,234` in the way of a language. */
export function numberIn(locale: string, value: number): string {
  const format = numbers.get(locale) ?? new Intl.NumberFormat(locale);
  numbers.set(locale, format);
  return format.format(value);
}

/** Forms of a noun by the categories of `Intl.PluralRules`. */
type Forms = { readonly other: string } & Partial<Readonly<Record<Intl.LDMLPluralRule, string>>>;

/** countedIn returns what puts a number before the form of a noun that the rules of a language choose. */
function countedIn(locale: string): (count: number, forms: Forms) => string {
  const rules = new Intl.PluralRules(locale);
  return (count, forms) => `${numberIn(locale, count)} ${forms[rules.select(count)] ?? forms.other}`;
}

/** `1 file`, `1,234 files`. Chinese nouns have one form and need only `numberIn`. */
export const counted = countedIn("en");
