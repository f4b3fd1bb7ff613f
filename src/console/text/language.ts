export type Language = "en" | "zh";

/** Languages with their own names for the menu, in its order. */
export const languageNames: Readonly<Record<Language, string>> = { en: "English", zh: "中文" };
export const languages = Object.keys(languageNames) as readonly Language[];

/** The first language of the browser that the console has; English if it has none of them. */
export function preferred(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const found = languages.find((one) => tag.toLowerCase().split("-", 1)[0] === one);
    if (found !== undefined) return found;
  }
  return "en";
}
