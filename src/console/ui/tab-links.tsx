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
