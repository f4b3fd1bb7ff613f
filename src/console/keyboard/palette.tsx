import { useId, useState } from "preact/hooks";
import { askToSignOut } from "../menu.tsx";
import { pages } from "../pages.ts";
import { go, linkTo } from "../route.ts";
import type { Session } from "../session/session.ts";
import { languageRows, languages } from "../text/language.ts";
import { chooseLanguage } from "../text/language-picker.tsx";
import { language, t } from "../text/text.ts";
import { chooseTheme } from "../theme.ts";
import { useLoad } from "../ui/call.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { typed } from "../ui/form.tsx";
import { Icon, type IconName } from "../ui/icons.tsx";
import { Problem } from "../ui/problem.tsx";
import { showError } from "../ui/toasts.tsx";
import { type KeyboardDialogProps, openKeyboardDialog } from "./dialogs.ts";

interface Command {
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void | Promise<void>;
}

const maxShown = 50;

/** List of everything that the token may open or do, found by typing. */
export function Palette({ session, onClose }: KeyboardDialogProps) {
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { client, rights } = session;
  const buckets = useLoad(
    async (signal) =>
      rights.may("static-bucket_list")
        ? await client.call("static-bucket_list", {}, { signal })
        : rights.namedBuckets,
    [client],
  );
  const found = matching(
    [...pageCommands(session), ...actions(session), ...(buckets.value ?? []).map(toBucket)],
    text,
  );
  const current = Math.min(at, found.length - 1);
  const select = (command: Command | undefined) => {
    if (command === undefined) return;
    // First, so that the focus returns to the page and not to what the command opens.
    onClose();
    Promise.try(command.run).catch(showError);
  };
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.isComposing) return;
    if (event.key === "Enter") select(found[current]);
    // Browsers would only clear the field.
    else if (event.key === "Escape") onClose();
    else if (by !== undefined && found.length > 0) setAt((current + by + found.length) % found.length);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={t.help.palette} onClose={onClose} closesOnBackdrop>
      <input
        type="search"
        aria-label={t.help.paletteHint}
        placeholder={t.help.paletteHint}
        {...asCombobox(`${id}-list`, found.length === 0 ? undefined : `${id}-${current}`)}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event: Event) => {
          setText(typed(event));
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      {buckets.error !== undefined && <Problem error={buckets.error} retry={buckets.reload} />}
      <div class="palette">
        <p class="muted" role="status">
          {found.length === 0 && t.help.nothingFound}
        </p>
        <div role="listbox" id={`${id}-list`} aria-label={t.help.palette}>
          {found.map((command, index) => (
            <div
              key={`${command.icon} ${command.label}`}
              ref={index === current ? scrollIntoView : null}
              role="option"
              tabIndex={-1}
              id={`${id}-${index}`}
              class="popup-item"
              aria-selected={index === current}
              onClick={() => select(command)}
              onKeyDown={onKey}
            >
              <Icon name={command.icon} />
              <span>{command.label}</span>
            </div>
          ))}
        </div>
      </div>
    </Dialog>
  );
}

/** ARIA combobox pattern: the field keeps the focus and names the chosen entry. */
function asCombobox(list: string, chosen: string | undefined): object {
  return { role: "combobox", "aria-expanded": true, "aria-controls": list, "aria-activedescendant": chosen };
}

function scrollIntoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

/** Commands whose label contains every typed word. */
function matching(commands: readonly Command[], text: string): readonly Command[] {
  const wanted = text.toLowerCase().split(/\s+/);
  return commands
    .filter(({ label }) => wanted.every((part) => label.toLowerCase().includes(part)))
    .slice(0, maxShown);
}

function pageCommands({ rights }: Session): readonly Command[] {
  return pages
    .filter(({ shown }) => shown(rights))
    .map(({ path, title, icon }) => ({ label: title(), icon, run: () => go(linkTo(path)) }));
}

function toBucket(name: string): Command {
  return { label: t.help.openBucket(name), icon: "buckets", run: () => go(linkTo("buckets", [name])) };
}

function actions({ rights }: Session): readonly Command[] {
  const newToken: Command = {
    label: t.help.newToken,
    icon: "plus",
    run: () => go(linkTo("tokens", [], { preset: "webdav" })),
  };
  const newBucket: Command = {
    label: t.help.newBucket,
    icon: "plus",
    run: () => go(linkTo("buckets", [], { new: "yes" })),
  };
  return [
    ...(rights.may("static-bucket_create") ? [newBucket] : []),
    ...(rights.may("token_create") ? [newToken] : []),
    { label: t.frame.systemColours, icon: "system", run: () => chooseTheme("system") },
    { label: t.frame.lightColours, icon: "sun", run: () => chooseTheme("light") },
    { label: t.frame.darkColours, icon: "moon", run: () => chooseTheme("dark") },
    ...languages
      .filter((one) => one !== language())
      .map(
        (one): Command => ({ label: languageRows[one].name, icon: "globe", run: () => chooseLanguage(one) }),
      ),
    { label: t.help.title, icon: "help", run: () => openKeyboardDialog("help") },
    { label: t.frame.signOut, icon: "out", run: askToSignOut },
  ];
}
