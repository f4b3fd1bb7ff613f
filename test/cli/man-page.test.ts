import { expect, test } from "bun:test";
import type { CommandRow, OptionRow } from "../../src/cli/command.ts";
import { manPage } from "../../src/cli/man-page.ts";
import { remote } from "../../src/cli/options.ts";
import { commands } from "../../src/cli/program.ts";
import { findTool } from "../support/tools.ts";

/** Options that the page describes once for all commands. */
const shared: readonly OptionRow[] = remote;

/** Every command that people run, with the names of its groups. */
function leaves(rows: readonly CommandRow[], above = "node-server"): { name: string; row: CommandRow }[] {
  return rows
    .filter(({ hidden }) => !hidden)
    .flatMap((row) => {
      const name = `${above} ${row.name}`;
      return [...(row.run === undefined ? [] : [{ name, row }]), ...leaves(row.commands ?? [], name)];
    });
}

test("the manual page has every command and option, and groff formats it without a warning", async () => {
  await using groff = await findTool("the manual page", "groff", "groff-base");
  if (groff === undefined) return;
  const { code, stdout, stderr } = await groff.run(["-man", "-Tutf8", "-ww", "-rLL=200n"], {
    stdin: manPage(commands, "1.2.3"),
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const text = plain(stdout);
  expect(text).toContain("node-server 1.2.3");
  for (const { name, row } of leaves(commands)) {
    const [, section = ""] = text.split(`\n   ${name}\n`);
    expect([name, section === ""]).toEqual([name, false]);
    const own = section.split(/\n {0,3}\S/)[0] ?? "";
    for (const [flags] of (row.options ?? []).filter((option) => !shared.includes(option)))
      expect([name, flags, own.includes(flags.replace(/[<>]/g, ""))]).toEqual([name, flags, true]);
  }
  // Once for all commands.
  const [, once = ""] = text.split("\nCLIENT OPTIONS\n");
  for (const [flags] of shared) expect(once.split("\nCOMMANDS\n")[0]).toContain(flags.replace(/[<>]/g, ""));
  for (const word of ["EXIT STATUS", "NODE_SERVER_<KEY>", "NODE_SERVER_TOKEN", "servers.json"])
    expect(text).toContain(word);
});

/** What a terminal shows of groff's output: without escape sequences and overstrikes. */
function plain(text: string): string {
  return text.replace(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, "g"), "").replace(/.\x08/g, "");
}

test("every command that talks to a server says what its token must be allowed to do", () => {
  const calls = leaves(commands).filter(({ row }) => remote.every((option) => row.options?.includes(option)));
  const silent = calls.filter(({ row }) => row.needs === undefined).map(({ name }) => name);
  // What a call needs depends on its method.
  expect(silent).toEqual(["node-server call [method] [params...]"]);
  expect(manPage(commands)).toContain("Needs a token that can delete and list files in bucket BUCKET.");
});
