import type { ZipFault } from "../../pages/buckets/deploys/zip.ts";
import { counted } from "../counted.ts";

/** The limits of an archive, as texts. */
interface ZipLimitTexts {
  readonly files: string;
  readonly bytes: string;
  readonly fileBytes: string;
}

/** By the reason why an archive is refused. `path` is the file in it, if it is about one. */
type ZipFaultTexts = Readonly<Record<ZipFault, (path: string, limits: ZipLimitTexts) => string>>;

/** Texts of the tabs of one bucket: deploys, links, trash and settings. `<name>` marks what a component puts in. */
export const bucketTabs = {
  files: "Files",
  deploys: "Deploys",
  links: "Links",
  trash: "Trash",
  settings: "Settings",
  tabs: (name: string) => `Parts of ${name}`,
  mayNot:
    "Your token cannot use this part of the bucket. Sign in with another token, or ask the person who gave you this one.",
  unsaved: (name: string) => `the settings of ${name}`,
  addresses: "Addresses",
  hostsNeed: (hosts: string) =>
    hosts === ""
      ? "Host names need StaticBucket::Write in scope global."
      : `Host names: ${hosts}. Changing them needs StaticBucket::Write in scope global.`,
  certificates: "Certificates",
  certificateStates: {
    waiting: "waits for its certificate, which is ordered within a minute.",
    issuing: "– the certificate is being issued.",
    issued: (until: string) => `has a certificate until ${until}.`,
    failed: "has no certificate. Browsers warn about it.",
  },
  /** By the reason. The server's own advice is in English. */
  certificateAdvice: {} as Readonly<Record<string, string>>,
  certificateRetry: (when: string) => `The server tries again ${when}.`,
  moveRootQuestion: (name: string) => `Make ${name} the HTTP root?`,
  moveRootText: (from: string, to: string, server: string) =>
    `${server}/ will show the files of ${to} instead of ${from}. The files of ${from} stay at ${server}/node/static/${from}/. Your other changes are saved too.`,
  moveRoot: "Move HTTP root",
  danger: "Delete this bucket",
  rules: "Headers and redirects",
  rulesAbout:
    "The files <headers> and <redirects> at the top of the bucket set response headers and redirects.",
  noProblems: "No problems found.",
  error: "Error",
  warning: "Warning",
  dropSite: "Drop your site’s folder or ZIP here",
  dropSiteAbout: "You see what changes, and can look at a preview, before anything is published.",
  previewNameLabel: "Preview name (optional)",
  previewNameHint: "All deploys of one name have one preview address, which shows the newest.",
  previewNameRefused: "A preview name has 1 to 63 characters, of a-z, 0-9 and - within it.",
  chooseFolder: "Choose folder",
  chooseZip: "Choose ZIP",
  oneAtATime: "Another deploy is under way or waits for you. Publish or cancel that one first.",
  noFiles: "There are no files to deploy.",
  deployUnderWay: "a deploy in progress",
  deploying: (what: string) => `Deploy of ${what}`,
  reading: (files: string, all: string, size: string, allSize: string) =>
    `Reading: ${files} of ${all}, ${size} of ${allSize}`,
  uploading: (files: string, all: string, size: string, allSize: string) =>
    `Uploading what is new: ${files} of ${all}, ${size} of ${allSize}`,
  deployAnyway: "Deploy anyway",
  otherContent: (path: string) => `${path} arrived with another content than was read. Try again.`,
  reviewTitle: (what: string) => `Publish ${what}?`,
  review: "See changes",
  later: "Later",
  noIndex:
    "There is no index.html at the top, so the site has no start page. Choose the folder that your generator writes.",
  unusable: (files: string, first: string) =>
    `${files} cannot be deployed because of their names, such as ${first}. Rename them.`,
  skipped: (files: string) => `${files} left out: hidden files and node_modules are not part of a site.`,
  foundProblems: "These lines will not work:",
  noChanges: (files: string) => `Nothing changes: all ${files} are already published.`,
  changes: (added: string, changed: string, removed: string, unchanged: string) =>
    `${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged`,
  changeNames: { added: "added", changed: "changed", removed: "removed" },
  zipFaults: {
    no_zip: () => "This is not a ZIP archive, or its end is missing.",
    zip64: () => "This archive is of the large kind (ZIP64). Unpack it and drop the folder.",
    encrypted: (path) => `${path} is encrypted. Unpack the archive and drop the folder.`,
    method: (path) =>
      `${path} is compressed in a way that browsers cannot read. Unpack the archive and drop the folder.`,
    name: (path) => `The name ${path} is not in UTF-8. Unpack the archive and drop the folder.`,
    path: (path) => `The archive is refused: ${path} leads out of its folder.`,
    duplicate: (path) => `The archive is refused: it has ${path} twice.`,
    too_many: (_, { files }) =>
      `The archive has too many files; ${files} are the most. Unpack it and drop the folder.`,
    too_large: (_, { bytes }) =>
      `The files of the archive are larger than ${bytes}. Unpack it and drop the folder.`,
    file_too_large: (path, { fileBytes }) =>
      `${path} is larger than ${fileBytes}. Unpack the archive and drop the folder.`,
    ratio: () => "The archive is refused: its files are more than 100 times as large as the archive.",
    damaged: (path) => (path === "" ? "The archive is damaged." : `The archive is damaged at ${path}.`),
    unsupported: () => "This browser cannot read ZIP archives. Drop the folder.",
  } satisfies ZipFaultTexts as ZipFaultTexts,
  deploysAbout: "A deploy replaces all files of the site at once. You can roll back to earlier deploys.",
  deploy: "Deploy",
  state: "State",
  by: "By",
  when: "When",
  statePublished: "Published",
  stateReady: "Ready",
  stateOpen: "Uploading",
  statePrevious: "Earlier",
  changed: "Changed",
  beforeFirstDeploy: "Before the first deploy",
  changedHint: "Files were changed after this deploy was published.",
  preview: "Preview",
  publish: "Publish",
  rollback: "Roll back",
  rollbackToThis: "Roll back to this",
  rollbackToLast: "Roll back",
  deleteDeploy: "Delete deploy",
  publishQuestion: (what: string) => `Publish ${what}?`,
  publishText:
    "Visitors see its files at once. The current files become an earlier deploy, so you can roll back.",
  rollbackQuestion: (what: string) => `Roll back to ${what}?`,
  rollbackText: (when: string) =>
    `Visitors see the files of this deploy at once, as published ${when}. The current files become an earlier deploy.`,
  published: (what: string) => `${what} published.`,
  rolledBack: (what: string) => `Rolled back to ${what}.`,
  publishedProblems: "The files are published, but these lines do not work:",
  deleteDeployQuestion: (what: string) => `Delete the deploy ${what}?`,
  deleteDeployText:
    "Its files are deleted, and you can no longer roll back to it. The published files do not change.",
  deployDeleted: (what: string) => `Deploy ${what} deleted.`,
  sealQuestion: "Preview a deploy that is still being uploaded?",
  sealToReviewQuestion: "See the changes of a deploy that is still being uploaded?",
  sealText: "The deploy then accepts no more files, so a running upload fails.",
  previewTitle: (what: string) => `Preview of ${what}`,
  previewText: (until: string) =>
    `Anyone with the link can see this deploy until ${until}. It is not published.`,
  previewName: (name: string) => `Preview ${name}`,
  stablePreviewText: (name: string) =>
    `Anyone with the link can see the newest deploy with the preview name ${name}. The link stays the same for all of them, until none waits for its publication.`,
  openPreview: "Open preview",
  noDeploys:
    "This bucket has no deploys yet. A deploy uploads a whole folder and publishes it at once. You can preview it first and roll back later.",
  howToDeploy: "From a computer that is signed in to <server> (<login>):",
  linksAbout:
    "Anyone with a link can open its file or folder without a token, until the link expires or you revoke it.",
  linkTo: (name: string) => `Link to ${name}`,
  newLink: "New link",
  createLink: "Create and copy link",
  noLinks: "No links yet. “Share” in the menu of a file or folder makes one, too.",
  mayNotSeeLinks: "The list of links needs StaticBucketFile::List on this bucket.",
  path: "Path",
  kind: "Kind",
  uses: "Uses",
  made: "Created",
  ends: "Expires",
  wholeBucket: "The whole bucket",
  withPassword: "Password",
  linkValid: "Valid",
  linkUsedUp: "Used up",
  linkEnded: "Ended",
  linkEndedWhy: "Its token was deleted, has a new secret or password, or lost the permission.",
  usesOf: (used: string, max: string) => `${used} of ${max}`,
  revoke: "Revoke",
  revokeQuestion: "Revoke this link?",
  revokeText: (path: string) => `The link to ${path} stops working at once. This cannot be undone.`,
  revoked: "Link revoked.",
  revokeAll: "Revoke all links",
  revokeAllQuestion: (name: string) => `Revoke all links of ${name}?`,
  revokeAllText:
    "All links of this bucket stop working at once, including previews of deploys and links that are not listed. This cannot be undone.",
  allRevoked: "All links revoked.",
  opens: "What it opens",
  oneFile: "A file",
  oneFileHint: "Anyone with the link can download it.",
  folderZip: "A folder as ZIP",
  folderZipHint: "Downloads everything in the folder as one archive.",
  dropBox: "A drop box",
  dropBoxHint: "Anyone with the link can upload files into a folder, but cannot see or replace files there.",
  filePath: "File",
  folderPath: "Folder",
  pathHint: "Path in the bucket.",
  newFolderHint: "Optional. It is made in the chosen folder when the first file arrives.",
  publicFiles:
    "This bucket is public: everybody can read its files without a link. A password or a limit would protect nothing.",
  publicDropBox: "This bucket is public: everybody can read what is uploaded.",
  makePrivate: "Make the bucket private",
  makePrivateQuestion: (name: string) => `Make ${name} private?`,
  makePrivateText: "Its site and the addresses of its files then work only with a token or a link.",
  isPrivate: (name: string) => `${name} is private.`,
  validFor: "Valid for",
  oneHour: "1 hour",
  maxDownloads: "Maximum downloads",
  maxUploads: "Maximum files",
  maxHint: "Leave empty for no limit.",
  usesFault: "Enter a number from 1 to 999,999.",
  passwordHint: "Optional. People must enter it to open the link.",
  note: "Note",
  noteHint: "Optional. People read it on the page of the link.",
  linkCreated: "Link created",
  linkCopied: "Link copied",
  linkKept: (until: string) =>
    `The link is on the clipboard. It is not shown again. It works until ${until}.`,
  linkOnce: (until: string) => `Copy the link now: it is not shown again. It works until ${until}.`,
  copyLink: "Copy link",
  sendPassword: "Send the password separately from the link.",
  trashAbout: (days: string) =>
    `Deleted and replaced files are kept for ${days}. “Restore” puts a file back at its path and keeps the current one as a version.`,
  trashEmpty: (days: string) => `The trash is empty. Deleted and replaced files are kept here for ${days}.`,
  nothingKept:
    "The trash is off: deleted and replaced files cannot be restored. To turn it on, set keep_removed_days in the configuration.",
  trashOff: "The trash is off: deleted and replaced files cannot be restored.",
  turnOn: "Turn on",
  turnOnQuestion: "Turn on the trash?",
  turnOnText: (days: string, line: string) =>
    `Files that are deleted or replaced in any bucket are then kept for ${days} and use disk space. This writes ${line} into the configuration.`,
  turnedOn: (days: string) => `The trash is on. Deleted and replaced files are kept for ${days}.`,
  staysOff: (key: string) =>
    `The trash is still off: the environment or the command line of the server sets another ${key}. Change it there.`,
  findVersion: "Search by path",
  versionsOf: (path: string) => `Older versions of ${path}.`,
  wholeTrash: "Show the whole trash",
  noVersionsOf: (path: string) => `There is no older version of ${path}.`,
  replacedBadge: "older version",
  view: "Show this version",
  tooLargeToView: (max: string) =>
    `Versions of more than ${max} are not shown here. Restore the version to see it.`,
  deletedBadge: "deleted",
  restoreMarked: "Restore selected",
  noVersion: (text: string) => `No path here contains “${text}”.`,
  removed: "Removed",
  keptUntil: "Kept until",
  restore: "Restore",
  restoreHint: "Put it back at its path",
  restored: (path: string) => `${path} restored.`,
  emptyTrash: "Empty trash",
  emptyQuestion: (name: string) => `Empty the trash of ${name}?`,
  emptyText: (versions: string, size: string) =>
    `${versions} (${size}) will be deleted. This cannot be undone.`,
  emptied: (versions: string) => `${versions} deleted for good.`,
  countVersions: (n: number) => counted(n, { one: "version", other: "versions" }),
  showOlder: "Show older versions",
};
