import { bytes, shortTime, time } from "../../format.ts";
import { useSession } from "../../session.ts";
import { browserStorage } from "../../storage.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/call.tsx";
import { Problem } from "../../ui/problem.tsx";
import { rich } from "../../ui/rich.tsx";
import {
  addSample,
  growthText,
  parseHistory,
  type SizeHistory,
  type TableSize,
  tableSizes,
} from "./storage-sizes.ts";

/** Size of the database by table, and its growth since the last visit. */
export function StorageCard() {
  const { client } = useSession();
  const { value, error, loading, reload } = useLoad(
    async (signal) => {
      const [uuid, storage] = await Promise.all([
        client.call("node-server_uuid", {}, { signal }),
        client.call("storage_read", {}, { signal }),
      ]);
      return recordSample(uuid, storage);
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
      {value !== undefined && <Sizes history={value} />}
    </section>
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
      <table class="overview-tables">
        <caption class="unseen">{t.overview.tablesCaption}</caption>
        <thead class="unseen">
          <tr>
            <th scope="col">{t.overview.table}</th>
            <th scope="col">{t.overview.size}</th>
            {base !== undefined && <th scope="col">{t.overview.growth}</th>}
          </tr>
        </thead>
        <tbody>
          {tables
            .filter(({ size }) => size > 0)
            .map((table) => (
              <SizeRow key={table.name} table={table} largest={largest} />
            ))}
        </tbody>
      </table>
      {empty.length > 0 && (
        <details>
          <summary>{t.overview.countEmptyTables(empty.length)}</summary>
          <p class="muted">{empty.map(({ name }) => name).join(", ")}</p>
        </details>
      )}
    </>
  );
}

function SizeRow({ table, largest }: { readonly table: TableSize; readonly largest: number }) {
  const { name, size, growth } = table;
  return (
    <tr>
      <th scope="row">
        <div class="overview-table">
          <code>{name}</code>
          <div class="overview-track">
            <div class="overview-bar" style={{ width: `${(100 * size) / largest}%` }} />
          </div>
        </div>
      </th>
      <td class="number">{bytes(size)}</td>
      {growth !== undefined && <td class="number muted">{growth === 0 ? "" : growthText(growth)}</td>}
    </tr>
  );
}
