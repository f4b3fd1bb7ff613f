import { useEffect, useState } from "preact/hooks";
import type { VersionRecord } from "../../../client/index.ts";
import { duration, time } from "../../format.ts";
import { useSession } from "../../session.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { useLoad } from "../../ui/load.ts";
import { Problem } from "../../ui/problem.tsx";

/** Refresh interval: the server may have been updated or restarted. */
const refreshMs = 30_000;

/** Version, uptime, database and UUID of the server. */
export function ServerCard() {
  const { client, rights } = useSession();
  const mayAskDatabase = rights.globally({ node: "get_database_type" });
  const { value, error, reload } = useLoad(
    async (signal) => {
      const [version, uuid, uptime, database] = await Promise.all([
        client.call("node-server_version", {}, { signal }),
        client.call("node-server_uuid", {}, { signal }),
        client.call("node-server_uptime", {}, { signal }),
        mayAskDatabase ? client.call("node-server_get_database_type", {}, { signal }) : undefined,
      ]);
      return { version, uuid, startedAt: performance.now() - uptime, database: database?.data };
    },
    [client],
  );
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), refreshMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="card overview-server" aria-labelledby="server">
      <h2 id="server">Server</h2>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="muted">Asking the server…</p>}
      {value !== undefined && (
        <dl class="facts">
          <dt>Version</dt>
          <dd>
            <strong>{value.version.cargo_version}</strong>
          </dd>
          <dt>Running for</dt>
          <dd>
            <Uptime startedAt={value.startedAt} />
          </dd>
          <dt>Database</dt>
          <dd>{databases[value.database ?? "hidden"] ?? value.database}</dd>
          <dt>UUID</dt>
          <dd class="row">
            <code>{value.uuid}</code>
            <CopyButton text={value.uuid} label="Copy UUID" />
          </dd>
          <Build version={value.version} />
        </dl>
      )}
    </section>
  );
}

const databases: Readonly<Record<string, string>> = {
  sqlite: "SQLite",
  postgres: "PostgreSQL",
  hidden: "Shown with the permission Node::GetDatabaseType in scope global",
};

function Build({ version }: { readonly version: VersionRecord }) {
  const { build_time, cargo_target_triple, git_commit_sha, git_branch, git_commit_date } = version;
  if (version.binary_type === "source")
    return (
      <>
        <dt>Built</dt>
        <dd>Runs from source, not from a release.</dd>
      </>
    );
  return (
    <>
      <dt>Built</dt>
      <dd>
        {timeOrText(build_time)} for <code>{cargo_target_triple}</code>
      </dd>
      <dt>Commit</dt>
      <dd>
        <code title={git_commit_sha}>{git_commit_sha.slice(0, 12)}</code>{" "}
        <span class="muted">
          on {git_branch}, {timeOrText(git_commit_date)}
        </span>
        <br />
        {version.git_commit_message}
      </dd>
    </>
  );
}

/** Uptime, counted in the browser between two refreshes. */
function Uptime({ startedAt }: { readonly startedAt: number }) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return <span role="timer">{duration(Math.max(now - startedAt, 0))}</span>;
}

/** Formats a time; other texts are returned unchanged. */
function timeOrText(text: string): string {
  return Number.isNaN(Date.parse(text)) ? text : time(text);
}
