import { expect } from "bun:test";
import { eachDatabase, newDatabase } from "../support/node.ts";
import { hello, newHome } from "../support/process.ts";

eachDatabase(
  "a server that is killed has everything that it has answered when it starts again",
  async (kind) => {
    await using home = await newHome();
    const database = await newDatabase(kind, home.path);
    await home.configure({}, database.url);
    const first = await home.serve();
    const { superToken } = first;
    const made = await first.newToken();
    await first.call("static-bucket_create", [superToken, "site"]);
    const upload = { token: superToken, name: "site", path: "a.txt", body: "answered" };
    await first.call("static-bucket-file_upload", upload);
    // Whoever reads the audit trail makes the server write what it has acknowledged.
    const trail = await first.call("audit_list", [superToken]);
    first.signal("SIGKILL");
    expect(await first.exited).toMatchObject({ signal: "SIGKILL" });

    const second = await home.serve();
    expect(second.superToken).toBe("");
    expect(await second.call("node-server_hello")).toBe(hello);
    expect(await second.send("token_get", [made])).toHaveProperty("result.token_key", made.split(":")[0]);
    expect(await (await fetch(`${second.url}/node/static/site/a.txt`)).text()).toBe("answered");
    expect(await second.call("audit_list", [superToken])).toEqual(trail);
    // On PostgreSQL the row that the first server has left might be that of another node, for a minute.
    expect(await second.call("node-server_status", [superToken])).toMatchObject({
      crashed: kind === "sqlite",
    });
    await second.stop();
    await database.drop();
  },
);
