export { fitsWebdav } from "./basic.ts";
export {
  type Answers,
  type Arguments,
  type Call,
  type ClientOptions,
  type EventOf,
  type MethodName,
  NodeServerClient,
  type ParamsOf,
  type ResultOf,
  type SqlRows,
  type SubscriptionName,
  type TokenSource,
} from "./client.ts";
export type { Content } from "./content.ts";
export {
  Busy,
  ClientError,
  DatabaseError,
  Disconnected,
  type ErrorKind,
  InternalError,
  InvalidInput,
  IoError,
  LimitReached,
  MethodNotFound,
  NotFound,
  NotNodeServer,
  ParseError,
  PermissionDenied,
  RpcError,
  TimedOut,
  Unreachable,
  type UnreachableReason,
} from "./errors.ts";
export { type ConfigProblem, type ServerEvents, serverEvents } from "./events.ts";
export { type Integers, parseExactly } from "./exact-json.ts";
export {
  FileConflict,
  FileDenied,
  FileError,
  FileLocked,
  FileNotFound,
  FileTooBig,
} from "./file-error.ts";
export type { NewFolder, Relocation, Transfer, Upload, Uploaded } from "./file-options.ts";
export type { BucketFiles } from "./files.ts";
export type { WatchBucketOptions } from "./follow-bucket.ts";
export type { FollowLogOptions, LogEvent, LogGap } from "./follow-log.ts";
export type { BucketEntry } from "./listing.ts";
export { changeMany, type ManyDone, type ManyOptions } from "./many.ts";
export {
  type AuditEntry,
  type Bucket,
  type BucketSite,
  type BucketUsage,
  bounds,
  type ConfigKey,
  credentialParams,
  type DenialReason,
  type Deploy,
  type DeployCheck,
  type Effect,
  errorKinds,
  type FailedPath,
  type FileVersion,
  type Limit,
  type LogEntry,
  libraryTargets,
  logTargets,
  type MethodDescription,
  type Methods,
  type MetricFamily,
  type MetricHistory,
  type OpenRpcDocument,
  otherPermissionFamilies,
  type Permission,
  type PublishedDeploy,
  patterns,
  permissionFamilies,
  type Requirement,
  requirements,
  type Scope,
  type SessionRecord,
  type StatusReason,
  type StoredLink,
  type Token,
  type VersionName,
  type VersionRecord,
} from "./methods.ts";
export { bodyPieces } from "./response-body.ts";
export { pause, pauseAfterFailures, type UploadRetry, withRetries } from "./retry.ts";
export { eventOf, type ServerEvent } from "./server-event.ts";
export { hideCredentials, readServerUrl } from "./server-url.ts";
export type { SocketClass, SocketLike } from "./socket.ts";
export type { SubscribeOptions, Subscription } from "./subscription.ts";
export { toUnreachable } from "./unreachable.ts";
export type { CallOptions, Fetch } from "./wire.ts";
