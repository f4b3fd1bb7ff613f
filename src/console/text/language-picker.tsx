import { Segments } from "../ui/form.tsx";
import { showError } from "../ui/toasts.tsx";
import { chooseLanguage } from "./choose-language.ts";
import { languageRows, languages } from "./language.ts";
import { language, t } from "./text.ts";

/** Choice of the language. Each is written in itself, so that it is found whatever the page is in. */
export function LanguagePicker() {
  return (
    <Segments
      class="language-picker"
      label={t.frame.languageLabel}
      options={languages.map((value) => ({ value, title: languageRows[value].name, lang: value }))}
      value={language()}
      onChange={(chosen) => void chooseLanguage(chosen).catch(showError)}
    />
  );
}
