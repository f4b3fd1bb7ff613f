import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { useLoad } from "../../ui/call.tsx";
import { Problem } from "../../ui/problem.tsx";
import { type DialectTable, readIndexes } from "./tables.ts";

/** Columns and indexes of a table. */
export function TableStructure({ table, dialect }: DialectTable) {
  const { client } = useSession();
  const indexes = useLoad((signal) => readIndexes(client, { table, dialect }, signal), [client, table.id]);
  return (
    // A scrolling element must be focusable to be scrolled by keyboard.
    <section class="sql-structure" aria-label={t.sql.structureTab} tabIndex={0}>
      <div class="table-box">
        <table class="table">
          <caption>{t.sql.columns}</caption>
          <thead>
            <tr>
              <th scope="col">{t.frame.name}</th>
              <th scope="col">{t.sql.type}</th>
              <th scope="col">{t.sql.standard}</th>
              <th scope="col">{t.sql.rules}</th>
            </tr>
          </thead>
          <tbody>
            {table.columns.map(({ name, type, standard, isKey, isRequired }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{type}</td>
                <td>{standard !== undefined && <code>{standard}</code>}</td>
                <td>
                  {isKey && <span class="badge">{t.sql.primaryKey}</span>}{" "}
                  {isRequired && <span class="badge">{t.sql.notNull}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {indexes.error !== undefined && <Problem error={indexes.error} retry={indexes.reload} />}
      {indexes.value?.length === 0 && <p class="muted">{t.sql.noIndexes}</p>}
      {indexes.value !== undefined && indexes.value.length > 0 && (
        <div class="table-box">
          <table class="table">
            <caption>{t.sql.indexes}</caption>
            <thead>
              <tr>
                <th scope="col">{t.frame.name}</th>
                <th scope="col">{t.sql.columns}</th>
                <th scope="col">{t.sql.rules}</th>
              </tr>
            </thead>
            <tbody>
              {indexes.value.map(({ name, definition, isUnique }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>
                    <code>{definition}</code>
                  </td>
                  <td>{isUnique && <span class="badge">{t.sql.unique}</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
