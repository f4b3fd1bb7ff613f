/** A text to read and to copy. It scrolls, and so is reached by keyboard. */
export function Code({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <section class="explorer-code" aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </section>
  );
}
