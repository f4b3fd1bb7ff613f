import { bytes, plural, shortTime, time } from "../../format.ts";
import { useSession } from "../../session.ts";
import { browserStorage } from "../../storage.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/load.ts";
import { Problem } from "../../ui/problem.tsx";
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
    <section class="card overview-storage" aria-labelledby="storage">
      <header>
        <h2 id="storage">Storage</h2>
        <Button disabled={loading} onClick={reload}>
          Refresh
        </Button>
      </header>
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="muted">Measuring…</p>}
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
          <span class="muted">Your next visit will show the growth since now.</span>
        ) : (
          <span class="muted">
            {growthText(latest.total - base.total)} since{" "}
            <time dateTime={new Date(base.at).toISOString()} title={time(base.at)}>
              {shortTime(base.at)}
            </time>
          </span>
        )}
      </p>
      <table class="overview-tables">
        <caption class="unseen">Bytes by table, largest first</caption>
        <thead class="unseen">
          <tr>
            <th scope="col">Table</th>
            <th scope="col">Size</th>
            {base !== undefined && <th scope="col">Growth</th>}
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
          <summary>{plural(empty.length, "empty table")}</summary>
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
