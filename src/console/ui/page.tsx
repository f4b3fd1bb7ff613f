import { type ComponentChildren, createContext, type RefObject } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { serverName } from "../brand.tsx";
import { t } from "../text/text.ts";

interface PageProps {
  readonly title: string;
  /** Content of the heading, if it is not the title as it is. */
  readonly heading?: ComponentChildren;
  /** Way to this page, in front of the heading. */
  readonly path?: ComponentChildren;
  /** Facts after the heading. */
  readonly summary?: ComponentChildren;
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
  /** The page takes the whole height and scrolls inside. */
  readonly tall?: boolean;
  readonly children: ComponentChildren;
}

/** True while the next page replaces a placeholder that had the focus. That page sets it to false. */
export const AfterPlaceholder = createContext<RefObject<boolean>>({ current: false });

/** Frame of a page. Its heading takes the focus, so that screen readers announce the new page. */
export function Page({ title, heading: content = title, path, summary, actions, tall, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${serverName}`;
  }, [title]);
  const afterPlaceholder = useContext(AfterPlaceholder);
  // A layout effect runs before anything can be clicked, so it never takes the focus from a clicked element. Who has gone
  // elsewhere while the code of the page was loaded stays there.
  useLayoutEffect(() => {
    const isTaken = afterPlaceholder.current && document.activeElement !== document.body;
    afterPlaceholder.current = false;
    if (!isTaken) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <main class={tall ? "page tall" : "page"} id="main">
      <header class="page-header">
        <div class="page-title">
          {path}
          <h1 ref={heading} tabIndex={-1} title={content === title ? undefined : title}>
            {content}
          </h1>
          {summary}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </main>
  );
}

/** Grey bars in the place of rows that are being loaded. Screen readers hear that the page loads. */
export function Skeleton({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="unseen">{t.frame.loading}</span>
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} aria-hidden="true" />
      ))}
    </div>
  );
}

/** Publishes the height of an element as a variable of CSS, for what has to leave space for it. Returns what ends that. */
export function publishHeight(
  element: HTMLElement | null,
  variable: `--${string}`,
): (() => void) | undefined {
  if (element === null) return undefined;
  const { style } = document.documentElement;
  const observer = new ResizeObserver(() => style.setProperty(variable, `${element.offsetHeight}px`));
  observer.observe(element);
  return () => {
    observer.disconnect();
    style.removeProperty(variable);
  };
}
