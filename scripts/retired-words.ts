import { join } from "node:path";
import { Glob } from "bun";

/**
 * Names that were retired in favour of the field's own words, each with its replacement. Whoever adds one of them again would
 * bring back a dialect that has to be learnt before a line can be changed.
 */
const retired: Readonly<Record<string, string>> = {
  Floor: "Backend",
  standing: "currentBackend",
  Loan: "Lease",
  borrow: "acquire",
  Shared: "RefCounted",
  AuthDoor: "Authenticator",
  JsonRpcDoor: "JsonRpcOptions",
  StaticDoor: "StaticOptions",
  WebdavDoor: "WebdavOptions",
  Doors: "HttpDeps",
  SharedDoors: "HttpDeps",
  Door: "BucketAccess",
  door: "authenticator, options",
  Guest: "Peer",
  guest: "peer",
  Origin: "RequestSource",
  Warrant: "WriteConditions",
  Ground: "PathResolver",
  Look: "FileSnapshot",
  lookAt: "statOrUndefined",
  lookNow: "statSyncOrUndefined",
  lookOf: "snapshotOf",
  Kept: "CacheEntry, StoredLock",
  keptPart: "settingPart",
  Claims: "PathMutex",
  Permits: "FairSemaphore",
  lane: "key",
  Slots: "ConnectionLimiter",
  findForm: "selectVariant",
  HotForm: "CachedVariant",
  Guards: "SubscriptionReauthorizer",
  Guarded: "AuthorizedPage",
  Trip: "RequestState",
  Visit: "DavRequest",
  Asked: "PendingRequest",
  room: "resultBudgetBytes, diskUsage",
  Refused: "HttpError",
  Refusal: "CredentialsRejected",
  Listening: "ListenerSlot",
  farewell: "closeReason",
  Goodbye: "CloseReason",
  Spot: "StagingPath",
  Touch: "AffectedPath",
  membership: "changesParent",
  Place: "BindAddress, DavPath, Position",
  Patience: "RetryPolicy",
  patienceMs: "timeoutMs, drainTimeoutMs",
  Spelling: "ColumnTypes",
  dismantle: "removeTree",
  swapIn: "replaceWith",
  become: "execInto",
  rehearse: "smokeTest",
  exchange: "install",
  Beginning: "StartMode",
  Guesses: "FailureLimiter",
  nobody: "anonymous",
  Complaint: "ValidationIssue",
  Desk: "SqlWorkspace, ConfigDraft",
  Sieve: "IncrementalFilter",
  Wish: "TokenDraft",
  told: "onProgress, reported",
  words: "title, description, json",
  most: "max with a unit",
  longest: "max with a unit",
  look: "read, refresh, check",
  looks: "reads, checks",
  looked: "headRead, checkedAt",
  looking: "reading, checking",
  isLooking: "isReading",
  lookSoon: "refreshSoon, pollSoon, checkSoon",
  lookedAt: "checkedAt",
  mustLook: "needsPresentState",
  lookAfterwards: "resolveUnknownCommit",
  orKnown: "readOrKnown",
  KeptValues: "RowCache",
  keptByKey: "cachedByKey",
  isKeptEmpty: "isKnownEmpty",
  isKept: "mayCache, isBuffered, isComplete",
  keptDays: "retentionDays",
  measureKept: "measureVersions",
  KeptSize: "VersionsSize",
  keptUntilMs: "retainedUntilMs",
  keptMs: "maxAgeMs",
  notKept: "noSuchVersion",
  keeper: "trashWriter",
  TrashKeeper: "TrashWriter",
  onKept: "onCommitted",
  keptAfter: "committedAfter",
  StoreCare: "StoreMaintenance",
  TrashCare: "TrashRetention",
  UploadCare: "UploadExpiry",
  DeployCare: "DeployMaintenance",
  care: "maintenance, retention",
  PlaceClaim: "LocationClaim",
  PlaceOptions: "PutOptions",
  PlacedFile: "WrittenFile",
  onPlaced: "onWritten",
  BucketPlace: "BucketLocation",
  newPlace: "newDeployPath",
  examinePlaces: "checkLocations",
  withoutPlace: "withoutLocation",
  surplus: "excess",
  surplusOf: "excessDeploys",
  formerTree: "previousTree",
  formerOf: "previousDeploy",
  admit: "authenticate, verifyIdentity",
  admitNow: "authenticateSync",
  admitted: "authorised",
  stillAdmitted: "stillAuthorised",
  stillAdmits: "isStillAuthorised",
  assertStillAdmitted: "assertStillAuthorised",
  recogniseNow: "recogniseSync",
  answerNow: "answerFresh",
  answerFound: "answerByState",
  FolderNow: "SyncFolder",
  findNow: "statPathSync",
  attemptNow: "attemptSync",
  inFolderNow: "inFolderSync",
  openNow: "openSync",
  openFileNow: "openFileSync",
  statNow: "statSync",
  lstatNow: "lstatSync",
  readNow: "readSync",
  readsNow: "canReadSync",
};

/** A declared name: of a type, a function, a value, a parameter with a type, or a member. */
const declared =
  /\b(?:class|interface|type|function|const|let)\s+(\w+)|^\s*(?:(?:private|readonly|static|async|get|set|override)\s+|#)*(\w+)\??\s*[:(<=]|[(,{]\s*(\w+)\??:\s/gm;

/** Every declaration in `src/` and `scripts/` whose name is a retired word. */
export async function retiredWords(): Promise<string[]> {
  const found: string[] = [];
  for (const folder of ["src", "scripts"])
    for await (const file of new Glob("**/*.{ts,tsx}").scan(folder)) {
      const path = join(folder, file);
      if (path === join("scripts", "retired-words.ts")) continue;
      const lines = (await Bun.file(path).text()).split("\n");
      for (const [at, line] of lines.entries()) {
        if (/^\s*(?:\*|\/\/|\/\*)/.test(line)) continue;
        for (const [, ...names] of line.matchAll(declared))
          for (const name of names)
            if (name !== undefined && Object.hasOwn(retired, name))
              found.push(`${path}:${at + 1}: the name \`${name}\` is retired; use ${retired[name]}`);
      }
    }
  return found;
}
