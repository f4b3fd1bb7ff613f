import { z } from "zod";
import { globally } from "../auth/need.ts";
import { Fault } from "../base/fault.ts";
import { method } from "./declare.ts";

/** Methods of the `node-server` namespace that run SQL of the operator. */
export const nodeSql = {
  "node-server_exec_sql": method({
    doc: "Runs SQL on the main database and returns the result of the last statement. If the result has more than 10,000 rows, you get the first 10,000, and `truncated` is true. Closing the connection of the call stops the statement. Give this permission only to people you trust fully: on SQLite they can write any file that the server can write.",
    need: globally("node.exec_sql"),
    secretResult: true,
    effect: "destroys",
    warning: "This runs SQL on the server's own database. Changes cannot be undone.",
    params: {
      sql: z.string(),
      params: z.unknown().optional().describe("an array of values for the placeholders, or null"),
    },
    result: z.object({
      success: z.literal(true),
      columns: z
        .array(z.string())
        .describe("the names of the columns, in order, also without rows; a repeated name is numbered"),
      data: z.array(z.record(z.string(), z.unknown())),
      row_count: z.int(),
      truncated: z.boolean(),
    }),
    fails: ["DatabaseError", "InvalidInput", "ResponseTooBig"],
    example: {
      params: { token: "<SUPER_TOKEN>", sql: "SELECT id, token_key FROM token WHERE id = 1" },
      result: {
        success: true,
        columns: ["id", "token_key"],
        data: [{ id: 1, token_key: "eIWPZ6CqJxc2xuH4" }],
        row_count: 1,
        truncated: false,
      },
    },
    run: async ({ database, limits, buckets, resultBudgetBytes, audit, disconnected }, { sql, params }) => {
      if (params != null && !Array.isArray(params)) {
        throw new Fault("InvalidInput", "params must be an array", { field: "params" });
      }
      const { maxAnswerBytes: limit, sqlTimeoutMs: timeoutMs } = limits();
      const request = {
        sql,
        params: params ?? null,
        maxBytes: resultBudgetBytes,
        limit,
        timeoutMs,
        signal: disconnected,
      };
      const statements = database.writingStatements(sql);
      try {
        // The statement may change a bucket's row.
        const result = await buckets.changing(database.operator.run(request));
        if (statements.length > 0) audit("sql.executed", { statements, outcome: "succeeded" });
        return result;
      } catch (error) {
        // Invalid input was not run.
        if (statements.length > 0 && !(error instanceof Fault && error.kind === "InvalidInput"))
          audit("sql.executed", { statements, outcome: "failed" });
        throw error;
      }
    },
  }),
};
