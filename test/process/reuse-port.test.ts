import { expect, test } from "bun:test";
import { freePort } from "../support/postgres.ts";
import { applied, helloAt, newHome, refused, sendTo } from "../support/process.ts";
import { until } from "../support/until.ts";

const at = (port: number, reuse: boolean) => ({
  top: `ws_listener = "127.0.0.1:${port}"\nreuse_port = ${reuse}`,
});

test("servers with the retired key reuse_port still share an address, and a reload gives it up or takes part again", async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const uuid = async () => (await sendTo(url, "node-server_uuid").catch(() => undefined))?.result;
  await using first = await newHome(at(port, false));
  await using second = await newHome(at(port, true));
  const one = await first.serve();
  const alone = await uuid();

  const { code, stderr } = await second.run(["serve"]);
  expect(code).toBe(1);
  expect(stderr).toEndWith(
    `cannot listen on 127.0.0.1:${port}: another program listens there and does not share the port with the processes of this server; stop it or change ws_listener\n`,
  );

  await first.configure(at(port, true));
  expect(await one.reload()).toMatchObject(applied("listener"));
  const two = await second.serve();
  const seen = new Set<unknown>();
  // Every request has a connection of its own, and the kernel chooses its listener.
  await until("both servers have answered", async () => seen.add(await uuid()).size === 2);
  expect(seen.has(alone)).toBe(true);

  // The other one still shares it, so it cannot be had alone.
  await first.configure(at(port, false));
  expect(await one.reload()).toMatchObject({
    ...refused,
    line: expect.stringContaining(`127.0.0.1:${port}`),
  });
  await two.stop();
  expect(await one.reload()).toMatchObject(applied("listener"));
  expect(await uuid()).toBe(alone);
  expect(await helloAt(url)).toBeDefined();
  expect((await second.run(["serve"])).stderr).toContain("does not share the port");
});
