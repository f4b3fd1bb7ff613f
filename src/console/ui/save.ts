/** Downloads a blob as a file. */
export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser starts reading the blob after the click handler returns.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
