import { effect } from "@preact/signals";
import { browserStorage } from "../storage.ts";
import { Segments } from "../ui/form.tsx";
import { showError } from "../ui/toasts.tsx";
import { type Language, languageRows, languages, preferred } from "./language.ts";
import { language, loadTexts, setLanguage, t } from "./text.ts";

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

const storageKey = "node-server.language";

/** Loads the texts of the language that was chosen here before, or else of the one that the browser prefers. */
export async function startLanguage(): Promise<void> {
  await setLanguage(stored() ?? preferred(navigator.languages));
  await loadTexts("frame");
  effect(() => {
    document.documentElement.lang = languageRows[language()].html;
  });
}

/** Switches at once, without a reload, and remembers the choice in this browser. */
export async function chooseLanguage(next: Language): Promise<void> {
  await setLanguage(next);
  browserStorage.write(storageKey, next);
}

function stored(): Language | undefined {
  const chosen = browserStorage.read(storageKey);
  return languages.find((one) => one === chosen);
}
