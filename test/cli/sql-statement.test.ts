import { expect, test } from "bun:test";
import { hasSeveral, isComplete } from "../../src/cli/sql/sql-statement.ts";

const complete = [
  "SELECT 1;",
  "SELECT 1; ",
  "SELECT 1; -- done",
  "SELECT ';' AS a;",
  "SELECT 'it''s';",
  "SELECT '';",
  'SELECT 1 AS "a;b";',
  "SELECT 1 /* ; */;",
  "SELECT $$a;b$$;",
  "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; END;",
  "CREATE TRIGGER t AFTER INSERT ON a EXECUTE FUNCTION f();",
  "BEGIN;",
];
const open = [
  "",
  "SELECT 1",
  "SELECT ';",
  "SELECT 'it'';",
  'SELECT "a;',
  "SELECT 1 -- ;",
  "SELECT 1 /* ;",
  "SELECT $body$ a; $$;",
  "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b;",
  "CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT 'END;';",
];

test("a statement is whole when its `;` stands outside of texts, names, comments and bodies", () => {
  expect(complete.filter((text) => !isComplete(text))).toEqual([]);
  expect(open.filter((text) => isComplete(text))).toEqual([]);
});

test.each([
  ["SELECT 1", false],
  ["SELECT 1; -- done;", false],
  ["SELECT ';'; ;", false],
  ["SELECT 1; SELECT 2", true],
  ["BEGIN; COMMIT;", true],
  ["CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END;", false],
])("whether `%s` is more than one statement: %s", (text, several) => {
  expect(hasSeveral(text)).toBe(several);
});
