import { expect } from "bun:test";
import { z } from "zod";
import { eachDatabase, newDatabase } from "../support/node.ts";
import { newHome, type Server } from "../support/process.ts";
import { until } from "../support/until.ts";

const entries = z.array(z.object({ fields: z.looseObject({ event: z.string() }) }));

async function rollsIn(server: Server, token: string) {
  const { result } = await server.send("audit_list", [token]);
  return entries
    .parse(result)
    .flatMap(({ fields }) => (fields.event === "token.secret_rolled" ? [fields] : []));
}

eachDatabase(
  "roll-super-token is in the audit of the running server, or of the next one, once",
  async (kind) => {
    await using home = await newHome();
    const database = await newDatabase(kind, home.path);
    await home.configure({}, database.url);
    const roll = async () => {
      const { stdout } = await home.run(["roll-super-token", "--yes"]);
      return /^Super Token: ((\S+):\S+)$/m.exec(stdout)?.slice(1) ?? [];
    };
    const entry = (target_key: string) => ({
      event: "token.secret_rolled",
      address: "local",
      target_key,
      by: "roll-super-token",
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });

    const first = await home.serve();
    const [token = "", key = ""] = await roll();
    await until("the entry is there", async () => (await rollsIn(first, token)).length > 0);
    expect(await rollsIn(first, token)).toEqual([entry(key)]);
    await first.stop();

    const [, key2 = ""] = await roll();
    const [token3 = "", key3 = ""] = await roll();
    const second = await home.serve();
    await until("the entry is there", async () => (await rollsIn(second, token3)).length > 2);
    const found = await rollsIn(second, token3);
    expect(found).toHaveLength(3);
    expect(found).toEqual(expect.arrayContaining([entry(key), entry(key2), entry(key3)]));
    await second.stop();
    await database.drop();
  },
);
