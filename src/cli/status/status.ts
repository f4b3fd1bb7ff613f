import { z } from "zod";
import { visible } from "../../base/visible-text.ts";
import {
  DatabaseError,
  type MetricFamily,
  type NodeServerClient,
  PermissionDenied,
  type StatusReason,
  toUnreachable,
  Unreachable,
} from "../../client/index.ts";
import { exitCodes, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { warningText } from "../nodes/nodes.ts";
import { isUnixAddress, unixClientUrl } from "../remote/addresses.ts";
import { explain } from "../remote/explain.ts";
import {
  clientFor,
  exitCodeOf,
  findTarget,
  noteToken,
  type RemoteOptions,
  type Target,
} from "../remote/remote.ts";
import { countText, minuteText, numberText, sizeText, timeText } from "../terminal/quantities.ts";
import { alignedText } from "../terminal/table.ts";
import { permissionsText, tokenState } from "../tokens/permissions.ts";

/** Prints the state of a server and of the token in use. */
export async function status(
  options: RemoteOptions & { readonly json?: boolean },
  ctx: Context,
): Promise<Outcome> {
  // Reachability and version need no token.
  const target = await findTarget(ctx, options);
  noteToken(ctx, target);
  const asked = await ask(target).catch((error: unknown) => {
    // A program that asked for JSON gets the state as JSON.
    if (error instanceof Unreachable && options.json) return error;
    throw error;
  });
  if (asked instanceof Unreachable) {
    const error = await explain(asked, target);
    ctx.warn(`node-server: ${error}`);
    return { json: { server: target.url, reachable: false, error }, code: exitCodeOf(asked) };
  }
  const { own } = asked.answers;
  const state = stateOf(target, asked);
  const shown = { json: state, text: linesOf(state, asked.answers) };
  const isWell = state.verdict !== "trouble" && state.ready !== false;
  if (!(own instanceof Error) || own instanceof NoToken)
    return { ...shown, code: isWell ? exitCodes.done : exitCodes.failed };
  ctx.warn(
    own instanceof DatabaseError
      ? `node-server: the server cannot use its database, so it cannot check tokens: ${own.message}`
      : `node-server: ${await explain(own, target)}`,
  );
  return { ...shown, code: exitCodeOf(own) };
}

async function ask(target: Target) {
  const client = clientFor(target);
  const begin = performance.now();
  const [version, uuid] = await Promise.all([
    client.call("node-server_version"),
    client.call("node-server_uuid"),
  ]);
  const answeredMs = Math.round(performance.now() - begin);
  const [answers, readiness] = await Promise.all([
    target.token === undefined ? failedWith(new NoToken()) : askForToken(client),
    readinessOf(target),
  ]);
  const uptimeMs = answers.uptime instanceof Error ? await uptimeByHealth(target) : answers.uptime;
  return { version, uuid, answeredMs, answers, uptimeMs, readiness };
}

/** Returns the uptime as the health check tells it, which needs neither database nor token; null if it does not answer. */
async function uptimeByHealth(target: Target): Promise<number | null> {
  const health = healthAnswer.safeParse(await getJson(target, "/node/health"));
  return health.success ? health.data.uptime_ms : null;
}

/** Returns whether the server can do its work, and what it lacks, such as `store`; undefined if it does not say. */
async function readinessOf(target: Target) {
  const ready = readyAnswer.safeParse(await getJson(target, "/node/ready"));
  return ready.success ? ready.data : undefined;
}

async function getJson({ url, fetch }: Target, path: string): Promise<unknown> {
  const address = `${isUnixAddress(url) ? unixClientUrl(url) : url}${path}`;
  const response = await fetch(address).catch((error: unknown) => {
    throw toUnreachable(url, error);
  });
  return response.json().catch(() => undefined);
}

const healthAnswer = z.object({ uptime_ms: z.number() });
const readyAnswer = z.object({
  status: z.enum(["ready", "unavailable"]),
  missing: z.array(z.string()).default([]),
  writes: z.boolean().default(true),
  verdict: z.enum(["attention", "trouble"]).optional(),
  reasons: z.array(z.custom<StatusReason>()).default([]),
});

type Answers = Awaited<ReturnType<typeof ask>>;

/** NoToken says that there is no token for the server, so nothing that needs one was called. */
class NoToken extends Error {}

async function askForToken(client: NodeServerClient) {
  try {
    // Called alone first: the server logs every use of an invalid token.
    const own = await client.call("token_get");
    const [uptime, database, buckets, nodes, metrics, judged] = await client.batch([
      ["node-server_uptime"],
      ["node-server_get_database_type"],
      ["static-bucket_list"],
      ["cluster_nodes"],
      ["node-server_metrics", { series: [] }],
      ["node-server_status"],
    ]);
    return { own, uptime, database, buckets, nodes, metrics, judged };
  } catch (error) {
    if (error instanceof DatabaseError || error instanceof PermissionDenied) return failedWith(error);
    throw error;
  }
}

function failedWith(error: Error) {
  const none = { uptime: error, database: error, buckets: error, nodes: error, metrics: error };
  return { own: error, ...none, judged: error };
}

function stateOf({ url }: Target, { version, uuid, answeredMs, answers, uptimeMs, readiness }: Answers) {
  const { own, database, buckets, nodes, metrics, judged } = answers;
  const broken = Object.values(answers).find((answer) => answer instanceof DatabaseError);
  const { verdict = null, reasons = [] } = judged instanceof Error ? (readiness ?? {}) : judged;
  return {
    server: url,
    reachable: true,
    answered_ms: answeredMs,
    verdict,
    reasons,
    ready: readiness === undefined ? null : readiness.missing.length === 0,
    missing: readiness?.missing ?? null,
    writes: readiness?.writes ?? null,
    certificate_expires: metrics instanceof Error ? null : certificateEnd(metrics.metrics),
    version: version.cargo_version,
    commit: version.git_commit_sha,
    built: version.build_time,
    uuid,
    uptime_ms: uptimeMs,
    crashed: judged instanceof Error ? null : judged.crashed,
    database: database instanceof Error ? null : database.data,
    database_error: broken?.message ?? null,
    token: own instanceof Error ? null : tokenState(own),
    super: !(own instanceof Error) && own.super === true,
    buckets: buckets instanceof Error ? null : buckets.length,
    nodes: nodes instanceof Error ? null : nodes.nodes.filter(({ alive }) => alive).length,
    warnings: nodes instanceof Error ? [] : nodes.warnings,
  };
}

/** Returns when the first certificate of a listener expires, in Unix milliseconds; null without one. */
function certificateEnd(families: readonly MetricFamily[]): number | null {
  const family = families.find(({ name }) => name === "node_server_tls_certificate_expiry_seconds");
  const ends = (family?.samples ?? []).map(({ value }) => value * 1000);
  return ends.length === 0 ? null : Math.min(...ends);
}

type State = ReturnType<typeof stateOf>;

function linesOf(state: State, { own, database, nodes }: Answers["answers"]): string {
  const rows: Record<string, string> = {
    server: state.server,
    reachable: `yes, in ${state.answered_ms} ms`,
    ...(state.missing === null ? {} : { ready: readyText(state.missing) }),
    ...(state.writes === false
      ? { writes: "no: the database refuses changes; the log says why (event=database.write_failed)" }
      : {}),
    ...(state.verdict === null ? {} : { verdict: verdictText(state) }),
    ...(state.certificate_expires === null
      ? {}
      : { certificate: certificateText(state.certificate_expires) }),
    version: `${state.version} (${state.commit.slice(0, 12)}, built ${state.built})`,
    uuid: state.uuid,
    ...(state.uptime_ms === null ? {} : { up: upText(state.uptime_ms, state.crashed) }),
    database: databaseText(state, database),
    token: tokenText(state, own),
    ...(own instanceof Error ? {} : { can: permissionsText(own) }),
    ...(state.token?.ends == null ? {} : { expires: `${minuteText(state.token.ends)} UTC` }),
    ...(state.buckets === null ? {} : { buckets: numberText(state.buckets) }),
    ...(nodes instanceof Error || nodes.nodes.length < 2 ? {} : { nodes: nodesText(nodes.nodes) }),
  };
  const lines = alignedText(Object.entries(rows).map(([name, value]) => [name, visible(value)]));
  const warnings = nodes instanceof Error ? [] : nodes.warnings;
  const listed = nodes instanceof Error ? [] : nodes.nodes;
  return [lines, ...warnings.map((warning) => `${visible(warningText(warning, listed))}\n`)].join("");
}

function certificateText(expires: number): string {
  return `${expires < Date.now() ? "expired at" : "valid until"} ${minuteText(expires)} UTC`;
}

/** `well`, or `attention: 2 errors in the log of the last hour`. */
function verdictText({ verdict, reasons }: State): string {
  return [verdict, reasons.map(reasonText).join("; ")].filter((part) => part !== "").join(": ");
}

/** Why the server is not well, and what to do. */
function reasonText(reason: StatusReason): string {
  switch (reason.code) {
    case "database":
      return "the database does not answer";
    case "schema":
      return "a newer version has changed the database; update this server";
    case "store":
      return "the file store cannot be used";
    case "readOnly":
      return "the database refuses changes";
    case "draining":
      return "it stops, or restarts shortly";
    case "descriptors":
      return "almost all file descriptors are in use; raise LimitNOFILE of the service";
    case "connections":
      return "almost all connections are in use; raise jsonrpc_max_connections";
    case "nodes":
      return "the nodes have conflicting settings";
    case "certificate":
      return `the certificate ends at ${reason.expires}; renew it and send HUP to the server, or see node-server certs`;
    case "backup":
      return reason.last === null
        ? "no backup was made; node-server logs says why"
        : `the last backup is of ${reason.last}; node-server logs says why there is no newer one`;
    case "disk":
      return `only ${sizeText(reason.free_bytes)} are free on the disk of ${reason.disk}`;
    case "failing":
      return `${(reason.share * 100).toFixed(1)} % of the requests failed in the last five minutes`;
    case "slow":
      return `requests wait ${Math.round(reason.seconds * 1000)} ms before they are handled`;
    case "nodeLost":
      return `lost: ${reason.names.join(", ")}`;
    case "uncertified":
      return `no new certificate for ${reason.names.join(", ")}; node-server certs says why`;
    case "nodeNotReady":
      return `not ready: ${reason.names.join(", ")}`;
    case "errors":
      return `${countText(reason.count, "error")} in the log of the last hour, the newest: ${reason.newest}`;
    case "signIns":
      return `${countText(reason.count, "failed sign-in")} in the last ten minutes`;
  }
}

/** `yes`, or `no: store, database`. */
function readyText(missing: readonly string[]): string {
  return missing.length === 0 ? "yes" : `no: ${missing.join(", ")}`;
}

/** `3 ready, 1 not ready, 1 lost`. */
function nodesText(nodes: ReadonlyArray<{ readonly alive: boolean; readonly ready: boolean }>): string {
  const ready = nodes.filter((node) => node.ready).length;
  const lost = nodes.filter((node) => !node.alive).length;
  const counts = { ready, "not ready": nodes.length - ready - lost, lost };
  return Object.entries(counts)
    .flatMap(([state, count]) => (count === 0 ? [] : `${numberText(count)} ${state}`))
    .join(", ");
}

function databaseText({ database, database_error }: State, answer: Answers["answers"]["database"]): string {
  if (database_error !== null)
    return `${database === null ? "" : `${database}, `}not usable: ${database_error}`;
  return (
    database ?? (answer instanceof PermissionDenied ? "not for this token" : "not known without a token")
  );
}

function tokenText({ token }: State, own: Answers["answers"]["own"]): string {
  if (token !== null) return whose(token);
  if (own instanceof NoToken) return "none";
  return own instanceof DatabaseError ? "cannot be checked without the database" : "not accepted";
}

/** `2 days 3 h`; minutes and seconds only below a day. */
function durationText(ms: number): string {
  const hours = Math.floor(ms / 3_600_000);
  if (hours < 24) return timeText(Math.floor(ms / 1000));
  return `${countText(Math.floor(hours / 24), "day")} ${hours % 24} h`;
}

/** `2 days 3 h`, or `5 min 3 s; the last run did not end by a stop, see node-server logs`. */
function upText(ms: number, crashed: boolean | null): string {
  const note = crashed ? "; the last run did not end by a stop, see node-server logs" : "";
  return `${durationText(ms)}${note}`;
}

function whose({ key, username, name }: NonNullable<State["token"]>): string {
  const label = name === null ? "" : `, ${name}`;
  return `${username === null ? key : `${username} (${key})`}${label}`;
}
