import { expect, test } from "bun:test";
import { findWarnings, toNodes } from "../../src/cluster/roster.ts";
import type { NodeRow } from "../../src/db/rows/node-rows.ts";

const nowMs = 1_000_000;

function row(uuid: string, more: Partial<NodeRow> = {}): NodeRow {
  const boot = more.boot ?? `boot of ${uuid}`;
  return {
    uuid,
    boot,
    key: `${uuid}/${boot}/${more.process ?? ""}`,
    name: uuid,
    url: null,
    version: "1.0.0",
    since: nowMs - 500_000,
    at: nowMs - 1000,
    ready: true,
    files: "store",
    beat: "1",
    ...more,
  };
}

const see = (...rows: NodeRow[]) => {
  const nodes = toNodes(rows, nowMs);
  return { nodes, warnings: findWarnings(nodes) };
};

test("a node is alive for a minute after its last heartbeat, and its processes are one node", () => {
  const { nodes, warnings } = see(
    row("b", { at: nowMs - 59_999 }),
    row("a", { at: nowMs - 60_000 }),
    row("c", { process: 1, at: nowMs - 5000, since: nowMs - 9000, version: "2.0.0" }),
    row("c", { process: 0, at: nowMs - 3000, since: nowMs - 8000_0, ready: false }),
    row("c", { process: 2, at: nowMs - 70_000, since: nowMs - 900_000, version: "0.1.0" }),
    row("d", { at: nowMs + 3_600_000 }),
  );
  expect(nodes.map(({ name, alive, ready, processes }) => [name, alive, ready, processes])).toEqual([
    ["a", false, false, 1],
    ["b", true, true, 1],
    ["c", true, false, 2],
    ["d", false, false, 1],
  ]);
  expect(nodes[2]).toMatchObject({ version: "1.0.0", since: nowMs - 80_000, last_seen: nowMs - 3000 });
  expect(warnings).toEqual([]);
});

test("a restarted server replaces the row of the process that was killed, without a warning", () => {
  const killed = row("a", { boot: "first", at: nowMs - 9000, files: "disk" });
  const restarted = row("a", { boot: "second", since: nowMs - 8000, files: "disk" });
  const { nodes, warnings } = see(killed, restarted);
  expect(nodes.map(({ boot }) => boot)).toEqual(["second"]);
  expect(warnings).toEqual([]);
  // The first one was not killed: it has a heartbeat after the second one started.
  const both = see({ ...killed, at: nowMs - 7000 }, restarted);
  expect(both.nodes.map(({ boot }) => boot)).toEqual(["first", "second"]);
  expect(both.warnings).toEqual([
    { event: "nodes.same_uuid", nodes: ["a"] },
    { event: "nodes.files_not_shared", nodes: ["a"] },
  ]);
});

test("two that join in the same millisecond are both listed", () => {
  const at = { since: nowMs - 10, at: nowMs - 10 };
  expect(see(row("a", { boot: "first", ...at }), row("a", { boot: "second", ...at })).nodes).toHaveLength(2);
});

test("nodes are warned about that are alive at the same time and do not share one store of files", () => {
  const warnedOf = (...rows: NodeRow[]) => see(...rows).warnings;
  expect(warnedOf(row("a"), row("b"))).toEqual([]);
  expect(warnedOf(row("a"), row("b"), row("c", { files: "other" }))).toEqual([
    { event: "nodes.files_not_shared", nodes: ["a", "b", "c"] },
  ]);
  expect(warnedOf(row("a", { files: "disk" }), row("b", { files: "disk" }))).toEqual([
    { event: "nodes.files_not_shared", nodes: ["a", "b"] },
  ]);
  expect(warnedOf(row("a", { files: "disk" }))).toEqual([]);
  // One took over from the other; and one that is not alive.
  expect(
    warnedOf(row("a", { files: "disk", at: nowMs - 5000 }), row("b", { files: "disk", since: nowMs - 4000 })),
  ).toEqual([]);
  expect(warnedOf(row("a", { files: "disk", at: nowMs - 90_000 }), row("b", { files: "disk" }))).toEqual([]);
});
