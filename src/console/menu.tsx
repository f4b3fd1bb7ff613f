import { useState } from "preact/hooks";
import { Brand } from "./brand.tsx";
import { openKeyboardDialog, paletteKey } from "./keyboard/dialogs.ts";
import { type PageEntry, pages } from "./pages.ts";
import { linkTo } from "./route.ts";
import { type Session, signOut } from "./session/session.ts";
import { confirmLeaving } from "./session/unsaved-work.ts";
import { LanguagePicker } from "./text/language-picker.tsx";
import { t } from "./text/text.ts";
import { chooseTheme, type Theme, theme, themes } from "./theme.ts";
import { IconButton } from "./ui/button.tsx";
import { Segments } from "./ui/form.tsx";
import { Icon, type IconName } from "./ui/icons.tsx";

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
          <Brand />
        </a>
        <button
          type="button"
          class="button quiet icon-only menu-toggle"
          aria-expanded={open}
          aria-label={t.frame.menu}
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? "close" : "menu"} />
        </button>
      </div>
      <button type="button" class="button menu-find" onClick={() => openKeyboardDialog("palette")}>
        <Icon name="search" />
        <span>{t.frame.goTo}</span>
        <kbd>{paletteKey}</kbd>
      </button>
      <nav aria-label={t.frame.pagesLabel}>
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
              {title()}
            </a>
          ))}
      </nav>
      <div class="menu-choices">
        <LanguagePicker />
        <ThemePicker />
      </div>
      <div class="menu-bottom">
        <a class="me" href={linkTo("tokens", [], { own: "yes" })} title={t.frame.keyOf(me.token_key)}>
          <strong>{me.username ?? me.token_key}</strong>
          <small>{rights.isSuper ? t.frame.superToken : t.frame.token}</small>
        </a>
        <IconButton icon="help" label={t.frame.help} onClick={() => openKeyboardDialog("help")} />
        <IconButton icon="out" label={t.frame.signOut} onClick={askToSignOut} />
      </div>
    </header>
  );
}

/** Signs out, after asking when unsaved work would be lost. */
export async function askToSignOut(): Promise<void> {
  if (await confirmLeaving(t.frame.signOutQuestion, t.frame.signOut)) signOut();
}

const themeIcons: Readonly<Record<Theme, IconName>> = { system: "system", light: "sun", dark: "moon" };

function ThemePicker() {
  const names = {
    system: t.frame.systemColours,
    light: t.frame.lightColours,
    dark: t.frame.darkColours,
  };
  return (
    <Segments
      class="theme-picker"
      label={t.frame.colours}
      options={themes.map((value) => ({
        value,
        title: <Icon name={themeIcons[value]} />,
        tip: names[value],
        name: names[value],
      }))}
      value={theme.value}
      onChange={chooseTheme}
    />
  );
}
