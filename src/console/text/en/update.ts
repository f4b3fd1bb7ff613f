/** Texts of the update page. `{name}` and `<name>` mark what a component puts in. */
export const update = {
  wasUpdated: (from: string, to: string) =>
    `The server was updated from ${from} to ${to}. The old binary is kept beside the new one, with the suffix .old.`,
  current: "Current version",
  version: (version: string) => `Version ${version}`,
  built: "Built",
  commit: "Commit",
  system: "System",
  fromSource: "run from source",
  question: (tag: string) => `Update to ${tag}?`,
  whatHappens: (tag: string) =>
    `The server downloads ${tag}, checks it, tries it out and replaces its binary. 3 seconds later it restarts: it is unreachable for a moment, and connections are closed.`,
  keepsOld:
    "The current binary is kept with the suffix .old. If the new one does not start, the server goes back to it by itself.",
  off: "Updates are off: the configuration does not say where releases are. Set release_url on the page <link>.",
  available: (latest: string) => `${latest} is available.`,
  newest: (current: string) => `The release server has no version that is newer than ${current}.`,
  notAsked: "The release server did not tell its newest version: <why>.",
  another: "Another version",
  install: "Install a version",
  tag: "Tag of the release",
  tagHint: "Newer or older, such as v1.2.3. The server downloads it from its release_url.",
  same: (tag: string) => `The server already runs ${tag}. Nothing was changed, and it did not restart.`,
  updated: (tag: string) => `The server runs ${tag} now, and this page is still that of the old version.`,
  failed: (tag: string) => `The server was not updated to ${tag}.`,
  setIt: "Set it on the page <link>, and try again.",
  checkTag: "Check that the tag is right, and that it was released for this system.",
  lostConnection:
    "The connection was lost, and the log cannot be followed from here. The server may continue by itself: check its version later.",
  says: (why: string) => `The server says: ${why}`,
  rolledBack: (tag: string, version: string, why: string) =>
    `${tag} did not start, so version ${version} runs again. The server says: ${why}`,
  notRestarted: (version: string) =>
    `The new binary is in place, but the server has not restarted: version ${version} still runs. Its log says more; restart it by hand to run the new version.`,
  runsNow: (tag: string) => `The server runs ${tag} now. Reload this page to get its console.`,
  stepDownload: "Download the release",
  stepCheck: "Check and try it out",
  stepPlace: "Put it in place",
  stepRestart: "Restart into it",
  underWay: "Update under way",
  updatingTo: (tag: string) => `Updating to ${tag}`,
  done: "· done",
  now: "· now",
  download: "Download",
  soFar: (size: string) => `${size} so far`,
  downloaded: (done: string, total: string, percent: number) => `${done} of ${total}, ${percent} %`,
  mayLeave: "You can leave this page: the server continues by itself.",
  longOutage:
    "The server has not answered for a long time. This page keeps trying; check the machine and its service manager.",
  restarting: "The server restarts about 3 seconds after the download. This page reconnects by itself.",
  badTag: "It must have the form vX.Y.Z, such as v1.2.3.",
  noReason: "its log does not say why",
};
