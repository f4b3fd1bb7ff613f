import { useEffect, useState } from "preact/hooks";
import type { VersionRecord } from "../../../client/index.ts";
import { duration, time } from "../../format.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { useLoad } from "../../ui/call.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";

/** Refresh interval: the server may have been updated or restarted. */
const refreshMs = 30_000;

/** Version, uptime, database and UUID of the server. */
export function ServerCard() {
  const { client, rights } = useSession();
  const mayAskDatabase = rights.may("node-server_get_database_type");
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
    { every: refreshMs },
  );
  return (
    <section class="overview-server" aria-labelledby="server">
      <h2 id="server">{t.overview.server}</h2>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="muted">{t.overview.asking}</p>}
      {value !== undefined && (
        <dl class="facts">
          <dt>{t.overview.version}</dt>
          <dd>
            <strong>{value.version.cargo_version}</strong>
          </dd>
          <dt>{t.overview.runningFor}</dt>
          <dd>
            <Uptime startedAt={value.startedAt} />
          </dd>
          <dt>{t.overview.database}</dt>
          <dd>{databases[value.database ?? "hidden"] ?? value.database}</dd>
          <dt>{t.overview.uuid}</dt>
          <dd class="row">
            <code>{value.uuid}</code>
            <CopyButton text={value.uuid} label={t.overview.copyUuid} />
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
  get hidden() {
    return t.overview.databaseHidden;
  },
};

function Build({ version }: { readonly version: VersionRecord }) {
  const { build_time, cargo_target_triple, git_commit_sha, git_branch, git_commit_date } = version;
  if (version.binary_type === "source")
    return (
      <>
        <dt>{t.overview.built}</dt>
        <dd>{t.overview.fromSource}</dd>
      </>
    );
  return (
    <>
      <dt>{t.overview.built}</dt>
      <dd>
        {rich(t.overview.builtFor, {
          time: timeOrText(build_time),
          target: <code>{cargo_target_triple}</code>,
        })}
      </dd>
      <dt>{t.overview.commit}</dt>
      <dd>
        <code title={git_commit_sha}>{git_commit_sha.slice(0, 12)}</code>{" "}
        <span class="muted">{t.overview.commitOn(git_branch, timeOrText(git_commit_date))}</span>
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
