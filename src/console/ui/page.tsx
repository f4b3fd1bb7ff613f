import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface PageProps {
  readonly title: string;
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
  /** The page takes the whole height and scrolls inside. */
  readonly tall?: boolean;
  readonly children: ComponentChildren;
}

/** Frame of a page. Its heading takes the focus, so that screen readers announce the new page. */
export function Page({ title, actions, tall, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · node-server`;
  }, [title]);
  // A layout effect runs before anything can be clicked, so it never takes the focus from a clicked element.
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <main class={tall ? "page tall" : "page"} id="main">
      <header class="page-header">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </main>
  );
}
