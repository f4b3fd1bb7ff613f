// The way of every request for files and metrics, whatever its protocol: count the body → lease → who → bucket →
// answer → error → log. It is written once, in answerRequest. A Protocol declares what is its own: how callers prove
// who they are, what it answers, what errors look like, and what the log says. Calls of JSON-RPC go through rpc/.

import type { Server } from "bun";
import type { Audit, AuditLog } from "../auth/audit-log.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { type Caller, callerName } from "../auth/caller.ts";
import { authorise, inBucket, type Need } from "../auth/need.ts";
import type { Permission } from "../auth/permission.ts";
import { type Clock, millisecondsSince } from "../base/clock.ts";
import type { Turns } from "../base/turns.ts";
import type { BucketFiles } from "../buckets/bucket-files.ts";
import { parseDeployTarget } from "../buckets/history/deploy-record.ts";
import type { Bucket } from "../buckets/record.ts";
import type { Grant } from "../buckets/write-conditions.ts";
import type { Lease } from "../rpc/method.ts";
import type { Services } from "../services.ts";
import type { Console } from "./console/console.ts";
import { type PageSubject, refusalPage } from "./content/page.ts";
import { countUnread, tooManyUnread, type UnreadBodies } from "./request/body.ts";
import { type ClientAddresses, clientLeft, isDisconnection } from "./request/client-address.ts";
import type { Delays } from "./request/connection-limiter.ts";
import type { S3Settings } from "./request/host-name.ts";
import { HttpError } from "./request/http-error.ts";
import { type HandlerName, noteOn } from "./request/request-observer.ts";
import type { StaticOptions } from "./static/serve.ts";

/**
 * idleSeconds is the time without progress after which the connection of a request is dropped. Bun restarts it for a response,
 * but not for a slow request body.
 */
export const idleSeconds = 30;

/** PipelineDeps is what all protocols share. */
export interface PipelineDeps extends UnreadBodies {
  readonly acquire: () => Lease<Services>;
  readonly addresses: ClientAddresses;
  readonly audit: AuditLog;
  /** Holds back the refusals of wrong credentials. */
  readonly delays: Delays;
  readonly turns: Turns;
  /** The largest upload; 0 means no limit. */
  readonly maxUploadBytes: () => number;
  readonly static: StaticOptions;
  /** The same for previews, of which nothing is kept in memory. */
  readonly preview: StaticOptions;
  readonly console: Console;
  /** Where the server speaks S3 at present. */
  readonly s3: () => S3Settings;
  readonly clock: Clock;
}

/** ArrivedRequest is a request whose route leads to a protocol. */
export interface ArrivedRequest {
  readonly request: Request;
  /** As in `request.url`: normalised, still percent-encoded. */
  readonly path: string;
  readonly server: Server<unknown>;
}

/** Protocol is what a protocol adds to the pipeline. `Target` is what a request asks for, `Who` what `who` finds out. */
export interface Protocol<Who, Target> {
  /** Names it in metrics, the access log and the log. */
  readonly name: HandlerName;
  /** Whether its requests have bodies: each is counted as that of an unknown caller until `ReceivedRequest.proved`. */
  readonly takesBodies: boolean;
  /** Answers OPTIONS where it is the same for everybody: before anything is counted. */
  options?(deps: PipelineDeps): Response;
  /**
   * Answers a request that needs no wait, as soon as it has arrived. Undefined if it is to go the whole way, on which every refusal and
   * every log line is made.
   */
  answerAtOnce?(arrived: ArrivedRequest, deps: PipelineDeps): Response | undefined;
  /**
   * who finds out who asks, and whether the caller may. A Response ends the request. A protocol whose callers hold tokens asks
   * for them first: a stranger learns nothing, not even whether a bucket exists.
   */
  who(received: ReceivedRequest<Target>): Promise<Who | Response>;
  answer(received: ReceivedRequest<Target>, who: Who): Promise<Response>;
  /** What its addresses lead to, if people open them in browsers: they see refusals as pages. */
  readonly pages?: PageSubject;
  /** What an error of the two looks like; throws one that is a bug. */
  toResponse(error: unknown, received: ReceivedRequest<Target>): Response;
  /** Adds what every response but that of `options` has. */
  finish?(response: Response, request: Request, target: Target | undefined): void;
  /** What the log says of a request, at DEBUG. Without it the request has no line. */
  logged?(target: Target | undefined): Readonly<Record<string, unknown>>;
}

/** answerRequest is the pipeline. */
export function answerRequest<Who, Target>(
  protocol: Protocol<Who, Target>,
  arrived: ArrivedRequest,
  deps: PipelineDeps,
): Response | Promise<Response> {
  return protocol.answerAtOnce?.(arrived, deps) ?? answerInTurn(protocol, arrived, deps);
}

async function answerInTurn<Who, Target>(
  protocol: Protocol<Who, Target>,
  arrived: ArrivedRequest,
  deps: PipelineDeps,
): Promise<Response> {
  const { request, server } = arrived;
  if (request.method === "OPTIONS" && protocol.options !== undefined) return protocol.options(deps);
  const address = deps.addresses.of(request, server);
  if (address === undefined) return clientLeft();
  const body = protocol.takesBodies ? countUnread(request, address, deps) : noBody;
  if (body === undefined) return finished(protocol, tooManyUnread(), request);
  const lease = deps.acquire();
  const received = new ReceivedRequest<Target>(arrived, deps, { address, lease, body });
  try {
    const response = finished(protocol, await answerOrError(protocol, received), request, received.target);
    logRequest(protocol, received, response);
    return response;
  } finally {
    body[Symbol.dispose]();
    lease.release();
  }
}

const noBody: Disposable = { [Symbol.dispose]() {} };

async function answerOrError<Who, Target>(
  protocol: Protocol<Who, Target>,
  received: ReceivedRequest<Target>,
): Promise<Response> {
  try {
    const who = await protocol.who(received);
    return who instanceof Response ? who : await protocol.answer(received, who);
  } catch (error) {
    return isDisconnection(error) ? clientLeft() : protocol.toResponse(error, received);
  }
}

function finished<Target>(
  { pages, finish }: Pick<Protocol<unknown, Target>, "finish" | "pages">,
  response: Response,
  request: Request,
  target?: Target,
): Response {
  const shown = pages === undefined ? response : refusalPage(request, response, pages);
  finish?.(shown, request, target);
  return shown;
}

/** One line for each request. */
function logRequest<Target>(
  { name, logged }: Pick<Protocol<unknown, Target>, "name" | "logged">,
  { request, lease, target, startedAt }: ReceivedRequest<Target>,
  { status }: Response,
): void {
  if (logged === undefined) return;
  const log = lease.services.hub.logger("server");
  if (!log.wants("DEBUG")) return;
  log.debug(`${name} ${request.method}`, {
    ...logged(target),
    status,
    elapsed_ms: millisecondsSince(startedAt),
  });
}

interface RequestResources {
  /** The client's IP address. */
  readonly address: string;
  readonly lease: Lease<Services>;
  /** Its body, as that of an unknown caller. */
  readonly body: Disposable;
}

/** ReceivedRequest is one request in the pipeline, with what it holds while it is answered. */
export class ReceivedRequest<Target> {
  readonly startedAt = performance.now();
  readonly request: Request;
  readonly path: string;
  readonly address: string;
  readonly deps: PipelineDeps;
  readonly lease: Lease<Services>;
  /** What the request asks for, for errors and the log. Its protocol sets it as soon as it knows. */
  target: Target | undefined;
  readonly #server: Server<unknown>;
  readonly #body: Disposable;

  constructor(
    { request, path, server }: ArrivedRequest,
    deps: PipelineDeps,
    { address, lease, body }: RequestResources,
  ) {
    this.request = request;
    this.path = path;
    this.address = address;
    this.deps = deps;
    this.lease = lease;
    this.#server = server;
    this.#body = body;
  }

  get services(): Services {
    return this.lease.services;
  }

  get authenticator(): Authenticator {
    return this.lease.authenticator;
  }

  /** To be called once the credentials of the request are proven: its body does not count as that of a stranger any more. */
  proved(caller?: Caller): void {
    if (caller !== undefined) noteOn(this.request, { caller });
    this.#body[Symbol.dispose]();
  }

  /** Restarts the time without progress after which the connection is dropped. To be called as a long body arrives. */
  restartIdleTimer(): void {
    this.#server.timeout(this.request, idleSeconds);
  }

  /** Records what a caller changed. */
  auditOf(caller: Caller): Audit {
    return this.deps.audit.by({ caller, address: this.address });
  }
}

/** OpenedBucket is a bucket, or a deploy of it, that a caller may use. */
export interface OpenedBucket {
  readonly caller: Caller;
  /** Named as the address names it: `site`, or `site@id` for a deploy. */
  readonly bucket: Bucket;
  readonly files: BucketFiles;
  readonly isDeploy: boolean;
  /** For the conditions of a change. */
  readonly grant: Grant;
  /** Records a change once it is made. */
  readonly audit: Audit;
}

/**
 * openBucket opens what an address calls `name` for a caller with these permissions on it: a bucket that is enabled, or with `site@id` a
 * deploy that is being filled. Throws Denied or 404.
 */
export async function openBucket(
  received: ReceivedRequest<unknown>,
  caller: Caller,
  { name, permissions }: { readonly name: string; readonly permissions: readonly Permission[] },
): Promise<OpenedBucket> {
  const { bucket: bucketName, deploy } = parseDeployTarget(name);
  const need = inBucket(bucketName, ...permissions);
  authorise(caller, need);
  const { buckets } = received.services;
  const bucket = await buckets.get(bucketName);
  if (bucket === undefined || !bucket.enable) throw new HttpError(404, "there is no such bucket");
  const files =
    deploy === undefined
      ? buckets.filesOf(bucket)
      : (await buckets.deploys.openForChange(bucket, deploy)).files;
  return {
    caller,
    // Addresses in answers are those of the deploy.
    bucket: deploy === undefined ? bucket : { ...bucket, name },
    files,
    isDeploy: deploy !== undefined,
    grant: new CallerGrant(received.lease, { caller, need, bucket, deploy }),
    audit: received.auditOf(caller),
  };
}

interface Granted {
  readonly caller: Caller;
  readonly need: Need;
  readonly bucket: Bucket;
  readonly deploy: string | undefined;
}

/** CallerGrant reads again whether a caller may change a bucket: a long body, or other work on the paths, may have come between. */
class CallerGrant implements Grant {
  readonly #lease: Lease<Services>;
  readonly #granted: Granted;

  constructor(lease: Lease<Services>, granted: Granted) {
    this.#lease = lease;
    this.#granted = granted;
  }

  get by(): string {
    return callerName(this.#granted.caller);
  }

  async assertStillValid(): Promise<void> {
    const { services, authenticator } = this.#lease;
    const { caller, need, bucket, deploy } = this.#granted;
    const { buckets } = services;
    if (!(await authenticator.isStillAuthorised(caller, need)))
      throw new HttpError(401, "the token was deleted or changed meanwhile; nothing was changed");
    switch (await buckets.compare(bucket)) {
      case "deleted":
      case "disabled":
        throw new HttpError(404, "the bucket was deleted or disabled meanwhile; nothing was changed");
      case "changed":
        throw new HttpError(
          409,
          "the bucket got another folder meanwhile; nothing was changed, send the request again",
        );
    }
    if (deploy !== undefined) await buckets.deploys.assertOpen(bucket, deploy);
  }
}
