import { showError } from "../ui/toasts.tsx";
import { chooseLanguage } from "./choose-language.ts";
import { languageNames, languages } from "./language.ts";
import { language, t } from "./text.ts";

/** Choice of the language. Each is written in itself, so that it is found whatever the page is in. */
export function LanguagePicker() {
  return (
    <fieldset class="segments language-picker">
      <legend class="unseen">{t.frame.languageLabel}</legend>
      {languages.map((one) => (
        <button
          key={one}
          type="button"
          lang={one}
          aria-pressed={language() === one}
          onClick={() => void chooseLanguage(one).catch(showError)}
        >
          {languageNames[one]}
        </button>
      ))}
    </fieldset>
  );
}
