/** Texts of the command palette and the help. */
export const help = {
  title: "Help and shortcuts",
  palette: "Go to",
  paletteHint: "Page, bucket or action",
  nothingFound: "Nothing has this name.",
  openBucket: (name: string) => `Bucket ${name}`,
  newToken: "New token",
  newBucket: "New bucket",
  documentation: "Documentation of version <version>: <file>",
  shortcuts: "Keyboard shortcuts",
  keyPalette: "Go to a page or bucket, or start an action",
  keySearch: "Search or filter this page",
  keyHelp: "This help",
  keyEscape: "Close a dialog; in an editor, then Tab leaves it",
  keyArrows: "Move in a list, menu or table",
  keyRename: "Rename or move the selected files",
  keySave: "Save in an editor",
  keyRun: "Run the statement, send the request",
  pages: {
    overview:
      "Whether the server is healthy and why not, what it does, the largest buckets, and what was done lately.",
    logs: "The log, live. The filter is the server's own, as in RUST_LOG: info, or debug,db=trace. Scrolling up pauses the list; a click on an entry shows its fields.",
    activity: "Who changed what, when and from where, newest first.",
    buckets:
      "Buckets and their files. Drop files or folders on a list to upload them. A click selects, a double click opens; Ctrl and Shift select more. Drag rows onto a folder to move them; a right click shows all actions.",
    sql: "Statements on the server's own database. Selected text is run alone. The permission for SQL means full trust.",
    config: "The configuration file. The server checks it as you type, and applies it when it is saved.",
    tokens:
      "A token is a key and a secret with limits: permissions, each in a scope. Its secret is shown once. The menu of a row tells what a token may do, and by which limit.",
    update:
      "Installs another release. The server checks and tries it before it restarts, and goes back if it does not start.",
    docs: "The documentation of this version of the server, in English.",
    api: "Every method of the JSON-RPC interface: a form, the request, the answer, and the same as a curl command.",
  } as Readonly<Record<string, string>>,
};
