import type { Clock } from "../../base/clock.ts";
import { Fault } from "../../base/fault.ts";
import type { RawJson } from "../../base/json.ts";
import type { CursorRequest, OperatorSql, PageRequest, SqlCursor } from "./operator-sql.ts";

/** Cursors that one process may have open: each holds a connection, and the database keeps what its query sees. */
export const maxCursors = 4;
/** A cursor from which nothing was read for this long is closed. */
export const cursorIdleMs = 60_000;
/** A cursor is closed this long after it was opened, however it is read: meanwhile the database keeps what others delete. */
export const maxCursorMs = 60 * 60_000;

interface OpenCursor {
  readonly cursor: SqlCursor;
  /** Ends what its caller holds open, by which the cursor is closed. */
  readonly end: () => void;
  idle: Disposable | undefined;
  readonly oldest: Disposable;
  /** Reads of one cursor run one after the other. */
  last: Promise<unknown>;
}

/** SqlCursors are the open cursors of a database, by the ids that their callers know. */
export class SqlCursors {
  readonly #operator: Pick<OperatorSql, "open">;
  readonly #clock: Clock;
  readonly #open = new Map<string, OpenCursor | undefined>();

  constructor(operator: Pick<OperatorSql, "open">, clock: Clock) {
    this.#operator = operator;
    this.#clock = clock;
  }

  /** Opens a cursor, which is closed when `stop` fires; `end` makes it fire. Returns the names of its columns. */
  async open(
    id: string,
    request: CursorRequest,
    { stop, end }: { readonly stop: AbortSignal; readonly end: () => void },
  ): Promise<readonly string[]> {
    if (this.#open.size >= maxCursors) {
      end();
      throw new Fault("InvalidInput", `${maxCursors} cursors are open; try again when one is closed`, {
        reason: "too_many_cursors",
        limit: maxCursors,
      });
    }
    this.#open.set(id, undefined);
    stop.addEventListener("abort", () => this.#close(id));
    try {
      const cursor = await this.#operator.open(request);
      // Its caller may have gone meanwhile.
      if (stop.aborted) {
        await cursor.close();
        throw gone();
      }
      const oldest = this.#clock.after(maxCursorMs, end);
      const opened: OpenCursor = { cursor, end, idle: undefined, oldest, last: Promise.resolve() };
      this.#open.set(id, opened);
      this.#endWhenIdle(opened);
      return cursor.columns;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Returns the next rows, if the cursor is the caller's own. A cursor that has no more, or that fails, is closed. */
  async read(id: string, { isOwn, ...request }: PageRequest & { readonly isOwn: boolean }): Promise<RawJson> {
    const opened = isOwn ? this.#open.get(id) : undefined;
    if (opened === undefined) throw gone();
    opened.idle?.[Symbol.dispose]();
    const reading = opened.last.then(() => opened.cursor.next(request));
    const settled = reading.catch(() => {});
    opened.last = settled;
    try {
      const { json, isLast } = await reading;
      if (isLast) opened.end();
      else if (opened.last === settled && this.#open.has(id)) this.#endWhenIdle(opened);
      return json;
    } catch (error) {
      // What is closed while it is read fails in a way of its own.
      if (this.#open.get(id) !== opened) throw gone();
      opened.end();
      throw error;
    }
  }

  #endWhenIdle(opened: OpenCursor): void {
    opened.idle?.[Symbol.dispose]();
    opened.idle = this.#clock.after(cursorIdleMs, opened.end);
  }

  #close(id: string): void {
    const opened = this.#open.get(id);
    this.#open.delete(id);
    opened?.idle?.[Symbol.dispose]();
    opened?.oldest[Symbol.dispose]();
    void opened?.cursor.close();
  }
}

function gone(): Fault {
  return new Fault(
    "NotFound",
    `this connection has no such cursor: it was closed, nothing was read for ${cursorIdleMs / 1000} s, or it was open for ${maxCursorMs / 60_000} minutes; open it again`,
    { field: "cursor" },
  );
}
