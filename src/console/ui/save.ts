/** Lets the browser save bytes as a file. */
export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser begins to read it a moment later.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
