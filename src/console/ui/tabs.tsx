import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

interface TabsProps<N extends string> {
  /** Accessible name of the list of tabs. */
  readonly label: string;
  readonly tabs: ReadonlyArray<{ readonly name: N; readonly title: ComponentChildren }>;
  readonly chosen: N;
  readonly onChoose: (name: N) => void;
  /** Content of the chosen tab. */
  readonly children: ComponentChildren;
  readonly class?: string;
}

/** Tabs and the panel of the chosen one. The arrow keys, Home and End move between the tabs. */
export function Tabs<N extends string>({
  label,
  tabs,
  chosen,
  onChoose,
  children,
  class: more,
}: TabsProps<N>) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const at = tabs.findIndex(({ name }) => name === chosen);
  const step = (event: KeyboardEvent) => {
    const next = indexFor(event.key, at, tabs.length);
    const tab = next === undefined ? undefined : tabs[next];
    if (next === undefined || tab === undefined) return;
    event.preventDefault();
    onChoose(tab.name);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <>
      <div ref={list} class="segments tabs" role="tablist" aria-label={label} onKeyDown={step}>
        {tabs.map(({ name, title }, index) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${index}`}
            aria-selected={index === at}
            aria-controls={`${id}-panel`}
            tabIndex={index === at ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div
        class={`tab-panel ${more ?? ""}`}
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${at}`}
      >
        {children}
      </div>
    </>
  );
}

/** Index that a key moves to in a ring of `count`; undefined for other keys. */
export function indexFor(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case "ArrowRight":
    case "ArrowDown":
      return (at + 1) % count;
    case "ArrowLeft":
    case "ArrowUp":
      return (at - 1 + count) % count;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}

interface TabLink {
  readonly label: string;
  /** Route of the tab. */
  readonly href: string;
  readonly current: boolean;
}

/** Tabs of a page. Each is a route, so that it can be linked to and the browser's history has it. */
export function TabLinks({ label, tabs }: { readonly label: string; readonly tabs: readonly TabLink[] }) {
  return (
    <nav class="tab-links" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.href} href={tab.href} aria-current={tab.current ? "page" : undefined}>
          {tab.label}
        </a>
      ))}
    </nav>
  );
}
