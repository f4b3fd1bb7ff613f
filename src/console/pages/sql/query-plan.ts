import type { Row } from "./cells.ts";
import type { Dialect } from "./statements.ts";

/** One step of a query plan. */
export interface PlanStep {
  /** What the database does, such as `SEARCH token USING INDEX token_key`. */
  readonly title: string;
  /** Conditions and keys, as the database names them. */
  readonly details: readonly string[];
  /** PostgreSQL's estimates. */
  readonly estimate?: { readonly rows: number; readonly cost: number };
  /** Whether it reads a whole table. */
  readonly readsAll: boolean;
  readonly children: readonly PlanStep[];
}

/**
 * Line before a statement that makes the database explain it. The options of PostgreSQL are written out, so that a text which begins
 * with ANALYZE, and would be run, is a syntax error.
 */
export const explainPrefix: Readonly<Record<Dialect, string>> = {
  sqlite: "EXPLAIN QUERY PLAN\n",
  postgres: "EXPLAIN (ANALYZE FALSE, FORMAT JSON)\n",
};

/** Reads the rows that an explained statement returns. */
export function readPlan(rows: readonly Row[], dialect: Dialect): readonly PlanStep[] {
  return dialect === "sqlite" ? sqliteSteps(rows, 0) : rows.flatMap(postgresSteps);
}

/** Each row names its parent; 0 is the statement itself. */
function sqliteSteps(rows: readonly Row[], parent: unknown): readonly PlanStep[] {
  return rows
    .filter((row) => row.parent === parent)
    .map((row) => {
      const title = String(row.detail);
      return {
        title,
        details: [],
        // Of an index that contains all columns, SQLite reads the index instead, as a whole too.
        readsAll: /^SCAN (?!CONSTANT ROW|\()/.test(title),
        children: sqliteSteps(rows, row.id),
      };
    });
}

type PlanNode = Readonly<Record<string, unknown>>;

/** The one row is a list of `{ Plan }`. */
function postgresSteps(row: Row): PlanStep[] {
  const [value] = Object.values(row);
  const list: unknown = typeof value === "string" ? JSON.parse(value) : value;
  const plans = Array.isArray(list) ? list.map((one) => (one as PlanNode).Plan) : [];
  return plans.filter((plan) => plan !== undefined).map((plan) => postgresStep(plan as PlanNode));
}

/** Members that are part of the title or the estimate, or that say nothing to a reader. */
const otherMembers =
  /^(Node Type|Relation Name|Alias|Index Name|CTE Name|Plans|Startup Cost|Total Cost|Plan Rows|Plan Width|Parallel Aware|Async Capable|Disabled|Parent Relationship|Schema|Scan Direction|Operation)$/;

function postgresStep(node: PlanNode): PlanStep {
  const type = String(node["Node Type"]);
  const kind = type === "ModifyTable" ? String(node.Operation) : type;
  const on = node["Relation Name"] ?? node["CTE Name"];
  const using = node["Index Name"];
  const children = Array.isArray(node.Plans) ? (node.Plans as PlanNode[]) : [];
  return {
    title: [kind, using && `using ${using}`, on && `on ${on}`].filter(Boolean).join(" "),
    details: Object.entries(node)
      .filter(([name, value]) => !otherMembers.test(name) && value !== false && value !== null)
      .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : String(value)}`),
    estimate: { rows: Number(node["Plan Rows"]), cost: Number(node["Total Cost"]) },
    readsAll: kind === "Seq Scan",
    children: children.map(postgresStep),
  };
}
