/** jsonLine writes a value as one line of JSON. Clients choose some of the text, so characters that a terminal may obey are escaped. */
export function jsonLine(value: object): string {
  const json = JSON.stringify(value);
  return `${/[\x7f-\x9f]/.test(json) ? escapeControls(json) : json}\n`;
}

function escapeControls(json: string): string {
  return json.replace(/[\x7f-\x9f]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
}
