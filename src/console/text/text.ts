import { signal } from "@preact/signals";
import { type Language, languageRows, type TextGroup, type Texts, textGroups } from "./language.ts";

const current = signal<Language>("en");
const loaded: Partial<Record<Language, Partial<Record<TextGroup, unknown>>>> = {};
/** Groups that are on the screen or may come back to it. */
const wanted = new Set<TextGroup>();

/** The language of the page. Components and formats that read it follow a switch. */
export function language(): Language {
  return current.value;
}

/**
 * Texts of the current language: `t.tokens.edit`. A component that reads one is rendered again when the language changes, so texts are
 * read when they are shown and not kept in constants. Reading a text makes a component one that is not rendered again with its parent
 * unless a prop or signal changed: one that shows an object which is changed in place must read a signal for that. Throws for a
 * group that `loadTexts` has not loaded.
 */
export const t = Object.defineProperties({} as Texts, Object.fromEntries(textGroups.map(toGetter)));

function toGetter(group: TextGroup): [TextGroup, PropertyDescriptor] {
  const get = () => {
    const texts = loaded[current.value]?.[group];
    if (texts === undefined) throw new Error(`the texts of ${group} are not loaded`);
    return texts;
  };
  return [group, { get, enumerable: true }];
}

/** Fetches groups of texts in the current language. */
export async function loadTexts(...groups: readonly TextGroup[]): Promise<void> {
  for (const group of groups) wanted.add(group);
  const before = current.peek();
  await Promise.all(groups.map((group) => load(before, group)));
  // The person may have chosen another language meanwhile.
  if (current.peek() !== before) await loadTexts(...groups);
}

/** Whether a group can be read. */
export function hasTexts(group: TextGroup): boolean {
  return loaded[current.value]?.[group] !== undefined;
}

let latest: Language = current.peek();

/** Switches to a language once all texts that may be shown are there. */
export async function setLanguage(next: Language): Promise<void> {
  latest = next;
  let groups: readonly TextGroup[] = [];
  // A page that is opened meanwhile adds its group.
  while (groups.length < wanted.size) {
    groups = [...wanted];
    await Promise.all(groups.map((group) => load(next, group)));
  }
  if (latest === next) current.value = next;
}

async function load(of: Language, group: TextGroup): Promise<void> {
  if (loaded[of]?.[group] !== undefined) return;
  const texts = await languageRows[of].texts[group]();
  loaded[of] = { ...loaded[of], [group]: texts };
}
