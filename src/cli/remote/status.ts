import { NodeServerClient, PermissionDenied, RpcError } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import { print } from "../terminal/output.ts";
import { countText, timeText, visible } from "../terminal/sizes.ts";
import { exitCodeOf, findServer, type RemoteOptions } from "./remote.ts";

/** What a server says about itself and about the token that asks. */
export async function status(options: RemoteOptions & { readonly json?: boolean }): Promise<number> {
  const { url, token } = await findServer(options);
  const client = new NodeServerClient(url, { token });
  const begin = performance.now();
  const [version, uuid] = await Promise.all([
    client.call("node-server_version"),
    client.call("node-server_uuid"),
  ]);
  const answeredMs = Math.round(performance.now() - begin);
  const [own, uptime, database, buckets] = await client.batch([
    ["token_get"],
    ["node-server_uptime"],
    ["node-server_get_database_type"],
    // Only the Super Token may ask this.
    ["static-bucket_list"],
  ]);
  const state = {
    server: client.url,
    reachable: true,
    answered_ms: answeredMs,
    version: version.cargo_version,
    commit: version.git_commit_sha,
    built: version.build_time,
    uuid,
    uptime_ms: uptime instanceof Error ? null : uptime,
    database: database instanceof Error ? null : database.data,
    token:
      own instanceof Error ? null : { key: own.token_key, username: own.username, ends: own.timestamp_to },
    super: !(buckets instanceof Error),
    buckets: buckets instanceof Error ? null : buckets.length,
  };
  if (options.json) await print(`${JSON.stringify(state)}\n`);
  else await print(linesOf(state, database));
  if (own instanceof PermissionDenied) {
    process.stderr.write(`node-server: the server does not accept the token: ${own.message}\n`);
    return exitCodes.refused;
  }
  if (own instanceof Error && !(own instanceof RpcError)) throw own;
  return own instanceof Error ? exitCodeOf(own) : exitCodes.done;
}

interface State {
  readonly server: string;
  readonly answered_ms: number;
  readonly version: string;
  readonly commit: string;
  readonly built: string;
  readonly uuid: string;
  readonly uptime_ms: number | null;
  readonly database: string | null;
  readonly token: {
    readonly key: string;
    readonly username: string | null;
    readonly ends: number | null;
  } | null;
  readonly super: boolean;
  readonly buckets: number | null;
}

function linesOf(state: State, database: unknown): string {
  const { token } = state;
  const rows: Record<string, string> = {
    server: state.server,
    reachable: `yes, in ${state.answered_ms} ms`,
    version: `${state.version} (${state.commit.slice(0, 12)}, built ${state.built})`,
    uuid: state.uuid,
    ...(state.uptime_ms === null ? {} : { up: durationText(state.uptime_ms) }),
    database: state.database ?? (database instanceof PermissionDenied ? "not for this token" : "unknown"),
    token: token === null ? "not accepted" : whose(token, state.super),
    ...(state.buckets === null ? {} : { buckets: String(state.buckets) }),
  };
  return Object.entries(rows)
    .map(([name, value]) => `${name.padEnd(10)} ${visible(value)}\n`)
    .join("");
}

/** Of more than a day nobody wants to know the minutes. */
function durationText(ms: number): string {
  const hours = Math.floor(ms / 3_600_000);
  if (hours < 24) return timeText(Math.floor(ms / 1000));
  return `${countText(Math.floor(hours / 24), "day")} ${hours % 24} h`;
}

function whose({ key, username, ends }: NonNullable<State["token"]>, isSuper: boolean): string {
  const name = username === null ? key : `${username} (${key})`;
  const end = ends === null ? "" : `, until ${new Date(ends).toISOString()}`;
  return `${name}${isSuper ? ", the Super Token" : ""}${end}`;
}
