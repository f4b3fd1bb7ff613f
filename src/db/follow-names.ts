import { type CompiledQuery, sql } from "kysely";
import type { Dialect } from "./dialect.ts";

/** Start is where a path begins: at the head of a bucket, which is the first row of the answer, or in a folder. */
export type Start = "head" | "folder";

/** StepRow is a row of a path that is followed: the head of the bucket, or what has the next name. */
export interface StepRow {
  readonly value: unknown;
}

export interface StepsOptions {
  readonly start: Start;
  /** The number of names. */
  readonly names: number;
  /** The namespace of the heads. */
  readonly heads: string;
  /** What the namespace of a folder has before its id. */
  readonly prefix: string;
}

/** `startMark` is the parameter of a compiled statement for its start; the others are the numbers of the names, as text. */
export const startMark = "start";

/**
 * `compileSteps` is the statement that follows so many names through the folders of a tree: a step looks one name up in the
 * folder that the step before found. It ends at the first name that does not exist, and at a file. Each step is a subquery for
 * one value, so that every planner does one look-up by the index: as a join, PostgreSQL reads the whole table while it is small,
 * and goes on so with a plan that it has kept.
 */
export function compileSteps(
  { query }: Pick<Dialect, "query">,
  { start, names, heads, prefix }: StepsOptions,
): CompiledQuery<StepRow> {
  return query
    .withRecursive("at(depth, folder, value)", (db) => {
      const first =
        start === "head"
          ? db
              .selectFrom("kv")
              .where("namespace", "=", sql.lit(heads))
              .where("key", "=", startMark)
              .select([
                sql<number>`0`.as("depth"),
                sql<string | null>`value ->> 'root'`.as("folder"),
                sql<unknown>`value`.as("value"),
              ])
          : db.selectNoFrom([
              sql<number>`0`.as("depth"),
              sql<string | null>`cast(${startMark} as text)`.as("folder"),
              sql<unknown>`cast(null as jsonb)`.as("value"),
            ]);
      if (names === 0) return first;
      const folder = sql<string>`coalesce(at.folder, at.value ->> 'id')`;
      const name = sql<string>`case at.depth ${sql.join(
        Array.from({ length: names }, (_, at) => sql`when ${sql.lit(at)} then ${String(at)}`),
        sql` `,
      )} end`;
      return first.unionAll(
        db
          .selectFrom("at")
          .where("at.depth", "<", sql.lit(names))
          .where(sql<boolean>`${folder} is not null`)
          .select([
            sql<number>`at.depth + 1`.as("depth"),
            sql<string | null>`cast(null as text)`.as("folder"),
            sql<unknown>`(select child.value from kv as child where child.namespace = ${sql.lit(prefix)} || ${folder} and child.key = ${name})`.as(
              "value",
            ),
          ]),
      );
    })
    .selectFrom("at")
    .select("value")
    .where("value", "is not", null)
    .orderBy("depth")
    .compile();
}
