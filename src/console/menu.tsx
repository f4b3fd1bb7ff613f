import { useState } from "preact/hooks";
import { type PageEntry, pages } from "./pages.ts";
import { type Session, signOut } from "./session.ts";
import { ThemePicker } from "./theme-picker.tsx";
import { IconButton } from "./ui/button.tsx";
import { Icon } from "./ui/icons.tsx";
import { mayLeave } from "./unfinished.ts";

/** The pages this token may use, who is signed in, and the way out. On a phone it opens from the top. */
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
        <IconButton icon="out" label="Sign out" onClick={leave} />
      </div>
    </header>
  );
}

/** Signs out; asks first where something would be lost. */
export async function leave(): Promise<void> {
  if (await mayLeave("Sign out?", "Sign out")) signOut();
}
