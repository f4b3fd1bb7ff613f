import { expect, test } from "bun:test";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Home, newHome } from "../support/process.ts";

// The program from the source, with one more row in the table of the kinds. It is a process of its own, because the
// configuration has the keys of all kinds that the table has when it is loaded.
const [row, main] = ["../support/memory-blobs-row.ts", "../../src/main.ts"].map((path) =>
  resolve(import.meta.dir, path),
);

/** A home with the program, whose `run` is a command of it. */
async function homeWithThirdKind() {
  const home: Home = await newHome();
  const binary = home.file("with-third-kind");
  await writeFile(binary, `#!/bin/sh\nexec ${process.execPath} --preload ${row} ${main} "$@"\n`, {
    mode: 0o755,
  });
  return {
    home,
    configure: (files: string) => home.configure({ files }),
    serve: () => home.serve({ binary }),
    run: (args: readonly string[], env: Record<string, string> = {}) => home.run(args, { binary, env }),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

test("a kind of blob store that is one file and one row keeps the files of a server", async () => {
  await using site = await homeWithThirdKind();
  await site.configure('url = "memory://name"\nmemory_password = "open"\n');
  expect((await site.run(["check", "--connect"])).stdout).toContain("The store memory://name can be used.");
  const server = await site.serve();
  const token = server.superToken;
  const body = "text ".repeat(100_000);
  await server.call("static-bucket_create", { token, name: "site", is_private: false });
  await server.call("static-bucket-file_upload", { token, name: "site", path: "a.txt", body });
  expect(await (await fetch(`${server.url}/node/static/site/a.txt`)).text()).toBe(body);
  await server.stop();
});

test("its keys and variables are checked as those of the others", async () => {
  await using site = await homeWithThirdKind();
  await site.configure('url = "azure://name"\n');
  expect((await site.run(["check"])).stderr).toContain(
    'files.url: must be "file:///absolute/folder" or "s3://bucket/prefix" or "memory://name"',
  );
  await site.configure('url = "memory:name"\n');
  expect((await site.run(["check"])).stderr).toContain("files.url: must name the memory");
  await site.configure('url = "memory://name"\n');
  expect((await site.run(["check"])).stderr).toContain("files.url: needs memory_password");
  expect(await site.run(["check"], { MEMORY_PASSWORD: "open" })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("files.memory_password has the value of MEMORY_PASSWORD"),
  });
  await site.configure('url = "memory://name"\nmemory_password = "wrong"\n');
  expect((await site.run(["check", "--connect"])).stderr).toContain("the memory refused memory_password");
});

test("a migration to it names the variables that the server needs", async () => {
  await using site = await homeWithThirdKind();
  expect((await site.run(["init"])).code).toBe(0);
  const migrated = await site.run(["migrate", "--files", "memory://new"], { MEMORY_PASSWORD: "open" });
  expect(migrated).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /copied to memory:\/\/new.*MEMORY_PASSWORD was taken from this environment/s,
    ),
  });
});
