import { useEffect, useState } from "preact/hooks";
import type { ResultOf, VersionRecord } from "../../../client/index.ts";
import { bytes, duration, shortTime, time } from "../../format.ts";
import { useSession } from "../../session/session.ts";
import { browserStorage } from "../../storage.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/call.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import { ServerCertificates } from "../buckets/host-certificates.tsx";
import {
  addSample,
  growthText,
  parseHistory,
  type SizeHistory,
  type TableSize,
  tableSizes,
} from "./model.ts";

/** Facts that are rarely needed: the build, the UUID, and the tables of the database. They are loaded when they are first shown. */
export function AboutCard({ isOpen }: { readonly isOpen: boolean }) {
  const { rights } = useSession();
  const [wasOpen, setWasOpen] = useState(isOpen);
  return (
    <details
      class="card overview-about"
      open={isOpen}
      onToggle={({ currentTarget }) => currentTarget.open && setWasOpen(true)}
    >
      <summary>{t.overview.about}</summary>
      {wasOpen && <ServerCard />}
      {wasOpen && rights.may("node-server_certificates") && <ServerCertificates />}
      {wasOpen && rights.may("storage_read") && <StorageCard />}
    </details>
  );
}

/** Refresh interval: the server may have been updated or restarted. */
const refreshMs = 30_000;

/** Version, uptime, database and UUID of the server. */
function ServerCard() {
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
          <dd>
            {value.database === undefined
              ? t.overview.databaseHidden
              : (databases[value.database] ?? value.database)}
          </dd>
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

/** Size of the database by table, and its growth since the last visit. */
function StorageCard() {
  const { client } = useSession();
  const { value, error, loading, reload } = useLoad(
    async (signal) => {
      const [uuid, storage, usage] = await Promise.all([
        client.call("node-server_uuid", {}, { signal }),
        client.call("storage_read", {}, { signal }),
        client.call("storage_usage", {}, { signal }),
      ]);
      return { history: recordSample(uuid, storage), usage };
    },
    [client],
  );
  return (
    <section class="overview-storage" aria-labelledby="storage">
      <header>
        <h2 id="storage">{t.overview.storage}</h2>
        <Button busy={loading} onClick={reload}>
          {t.overview.refresh}
        </Button>
      </header>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="muted">{t.overview.measuring}</p>}
      {value !== undefined && <Usage of={value.usage} />}
      {value !== undefined && <Sizes history={value.history} />}
    </section>
  );
}

/** What takes space, by kind. */
function Usage({ of: usage }: { readonly of: ResultOf<"storage_usage"> }) {
  const { buckets, counted } = usage;
  return (
    <>
      <dl class="facts">
        {(["files", "deploys", "trash", "uploads", "database"] as const).flatMap((kind) => [
          <dt key={kind}>{t.overview.usageOf[kind]}</dt>,
          <dd key={`${kind} size`}>{bytes(usage[kind])}</dd>,
        ])}
      </dl>
      {counted < buckets && <p class="muted">{t.overview.notCounted(buckets - counted)}</p>}
    </>
  );
}

/** Adds a sample to the history in the browser's storage. Sizes are not secret. */
function recordSample(uuid: string, storage: { tables: Record<string, number>; total: number }): SizeHistory {
  const key = `node-server.storage.${uuid}`;
  const history = addSample(parseHistory(browserStorage.read(key)), { at: Date.now(), ...storage });
  browserStorage.write(key, JSON.stringify(history));
  return history;
}

function Sizes({ history: { base, latest } }: { readonly history: SizeHistory }) {
  const tables = tableSizes(latest, base);
  const empty = tables.filter(({ size }) => size === 0);
  const largest = tables[0]?.size ?? 0;
  const columns: ReadonlyArray<Column<TableSize>> = [
    {
      id: "table",
      title: t.overview.table,
      kind: "heading",
      cell: ({ name, size }) => (
        <div class="overview-table">
          <code>{name}</code>
          <div class="overview-track">
            <div class="overview-bar" style={{ width: `${(100 * size) / largest}%` }} />
          </div>
        </div>
      ),
    },
    { id: "size", title: t.overview.size, kind: "number", cell: ({ size }) => bytes(size) },
    ...(base === undefined
      ? []
      : [
          {
            id: "growth",
            title: t.overview.growth,
            kind: "number" as const,
            cell: ({ growth = 0 }: TableSize) =>
              growth !== 0 && <span class="muted">{growthText(growth)}</span>,
          },
        ]),
  ];
  return (
    <>
      <p class="overview-total">
        <strong>{bytes(latest.total)}</strong>{" "}
        {base === undefined ? (
          <span class="muted">{t.overview.nextVisit}</span>
        ) : (
          <span class="muted">
            {rich(t.overview.growthSince, {
              growth: growthText(latest.total - base.total),
              time: (
                <time dateTime={new Date(base.at).toISOString()} title={time(base.at)}>
                  {shortTime(base.at)}
                </time>
              ),
            })}
          </span>
        )}
      </p>
      <DataTable
        label={t.overview.tablesCaption}
        columns={columns}
        rows={tables.filter(({ size }) => size > 0)}
        keyOf={({ name }) => name}
      />
      {empty.length > 0 && (
        <details>
          <summary>{t.overview.countEmptyTables(empty.length)}</summary>
          <p class="muted">{empty.map(({ name }) => name).join(", ")}</p>
        </details>
      )}
    </>
  );
}
