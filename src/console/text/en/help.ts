/** Texts of the command palette and the help. */
export const help = {
  title: "Help and shortcuts",
  palette: "Go to",
  paletteHint: "Page, bucket or action",
  nothingFound: "No matches.",
  openBucket: (name: string) => `Bucket ${name}`,
  newToken: "New token",
  newBucket: "New bucket",
  documentation: "Documentation of version <version>: <file>",
  shortcuts: "Keyboard shortcuts",
  keyPalette: "Go to a page or bucket, or start an action",
  keySearch: "Search or filter this page",
  keyHelp: "This help",
  keyEscape: "Close a dialog; in an editor, press Tab next to leave it",
  keyArrows: "Move in a list, menu or table",
  keyRename: "Rename or move the selected files",
  keySave: "Save in an editor",
  keyRun: "Run the statement, send the request",
  pages: {
    overview: "Shows whether the server is healthy, what it does, the largest buckets and recent activity.",
    logs: "The live log. Write filters as in RUST_LOG: info, or debug,db=trace. Scroll up to pause the list; click an entry to see its fields.",
    activity: "Who changed what, when and from where, newest first.",
    buckets:
      "Buckets and their files. Drop files or folders on a list to upload them. Click to select, with Ctrl or Shift for more; double-click to open. Drag rows onto a folder to move them; right-click for all actions.",
    sql: "Run statements on the server's own database. Select a part to run only that. The permission for SQL means full trust.",
    config: "The configuration file. The server checks it as you type and applies it when you save.",
    tokens:
      "A token has a key, a secret and limits. Each limit grants permissions in scopes. The secret is shown once. The menu of a row tells what a token can do, and which limit grants it.",
    update:
      "Installs another version. The server checks it, tries it out and restarts. It rolls back if the new version does not start.",
    docs: "The documentation of this version of the server, in English.",
    api: "Every method of the JSON-RPC interface: a form, the request, the response, and the same call as a curl command.",
  } as Readonly<Record<string, string>>,
};
