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
