import { expect } from "bun:test";
import { testNode } from "../support/node.ts";
import { Consumer, eachRuntime } from "./consumer.ts";

eachRuntime(
  "a refusal says whether the token is wrong, out of time, or lacks a permission",
  async (runtime) => {
    await using node = await testNode();
    const over = { timestamp_to: Date.now() - 1000 };
    const later = { timestamp_from: Date.now() + 3_600_000 };
    const tokens = {
      invalid_credentials: "nobody:nothing",
      expired: await node.newToken([], over),
      not_yet_valid: await node.newToken([], later),
      missing_permission: await node.newToken([]),
    };
    await using consumer = await Consumer.open();
    const lines = await consumer.run(
      runtime,
      `
    const tokens = ${JSON.stringify(tokens)};
    for (const [reason, token] of Object.entries(tokens))
      for (const method of ["static-bucket_list", "node-server_get_database_type"]) {
        const error = await new client.NodeServerClient(server.url, { token }).call(method).catch((error) => error);
        console.log(error instanceof client.PermissionDenied, reason, error.reason);
      }
    `,
      { url: node.url },
    );
    expect(lines).toEqual(
      Object.keys(tokens).flatMap((reason) => [`true ${reason} ${reason}`, `true ${reason} ${reason}`]),
    );
  },
);

eachRuntime("a user name with a colon is refused for files, where it cannot travel", async (runtime) => {
  await using consumer = await Consumer.open();
  const lines = await consumer.run(
    runtime,
    `
    const named = new client.NodeServerClient(server.url, { token: "[agent]:7|pass:word" });
    try { await named.bucket("site").list(); } catch (error) { console.log(error.name, error.message); }
    const other = new client.NodeServerClient(server.url, { token: "alice|pass:word|more" });
    console.log(typeof other.bucket("site").upload);
    `,
  );
  expect(lines).toEqual([
    "ClientError files go over WebDAV, where a user name cannot hold `:`; use the token's key and secret instead",
    "function",
  ]);
});
