import { useState } from "preact/hooks";
import { type PageEntry, pages } from "./pages.ts";
import { type Session, signOut } from "./session.ts";
import { chooseTheme, type Theme, theme, themes } from "./theme.ts";
import { IconButton } from "./ui/button.tsx";
import { Icon, type IconName } from "./ui/icons.tsx";
import { confirmLeaving } from "./unsaved-work.ts";

/** Main menu: the pages this token may use, the theme, the signed-in token and "Sign out". On a phone it opens from the top. */
export function Menu({
  session,
  current,
}: {
  readonly session: Session;
  readonly current: PageEntry | undefined;
}) {
  const [open, setOpen] = useState(false);
  const { rights, me } = session;
  return (
    <header class={open ? "menu open" : "menu"}>
      <div class="menu-top">
        <a class="brand" href="#/overview">
          <span class="brand-mark" aria-hidden="true" />
          node-server
        </a>
        <button
          type="button"
          class="button quiet icon-only menu-toggle"
          aria-expanded={open}
          aria-label="Menu"
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? "close" : "menu"} />
        </button>
      </div>
      <nav aria-label="Pages">
        {pages
          .filter(({ shown }) => shown(rights))
          .map(({ path, title, icon }) => (
            <a
              key={path}
              href={`#/${path}`}
              aria-current={path === current?.path ? "page" : undefined}
              onClick={() => setOpen(false)}
            >
              <Icon name={icon} />
              {title}
            </a>
          ))}
      </nav>
      <ThemePicker />
      <div class="menu-bottom">
        <div class="me" title={`key ${me.token_key}`}>
          <strong>{me.username ?? me.token_key}</strong>
          <small>{rights.isSuper ? "Super Token" : "Token"}</small>
        </div>
        <IconButton icon="out" label="Sign out" onClick={askToSignOut} />
      </div>
    </header>
  );
}

/** Signs out, after asking when unsaved work would be lost. */
export async function askToSignOut(): Promise<void> {
  if (await confirmLeaving("Sign out?", "Sign out")) signOut();
}

const themeLabels: Readonly<Record<Theme, { readonly icon: IconName; readonly label: string }>> = {
  system: { icon: "system", label: "System colours" },
  light: { icon: "sun", label: "Light colours" },
  dark: { icon: "moon", label: "Dark colours" },
};

function ThemePicker() {
  return (
    <fieldset class="segments theme-picker">
      <legend class="unseen">Colours</legend>
      {themes.map((one) => (
        <button
          key={one}
          type="button"
          aria-label={themeLabels[one].label}
          title={themeLabels[one].label}
          aria-pressed={theme.value === one}
          onClick={() => chooseTheme(one)}
        >
          <Icon name={themeLabels[one].icon} />
        </button>
      ))}
    </fieldset>
  );
}
