export {
  type Call,
  type ClientOptions,
  type EventOf,
  type MethodName,
  NodeServerClient,
  type ParamsOf,
  type ResultOf,
  type SubscriptionName,
} from "./client.ts";
export {
  ClientError,
  DatabaseError,
  type ErrorKind,
  InvalidInput,
  IoError,
  NotFound,
  PermissionDenied,
  RpcError,
  Unreachable,
} from "./errors.ts";
export { BucketFiles, type Content, FileError, type Transfer } from "./files.ts";
export { errorKinds, type Methods } from "./methods.ts";
export type { SubscribeOptions } from "./stream.ts";
