import { expect } from "bun:test";
import { innocentClient } from "../support/innocent-client.ts";
import { attackTest, WatchedServer } from "../support/watched-server.ts";

const standstillMs = 1000;

attackTest("the innocent client notices a server that stands still, and one that ends", async () => {
  await using target = await WatchedServer.start();
  const { server } = target;
  const watch = () => innocentClient({ url: server.url, pid: server.pid });
  await using stopped = await watch();
  server.signal("SIGSTOP");
  await Bun.sleep(standstillMs);
  server.signal("SIGCONT");
  const standstill = await stopped.stop();
  expect(standstill.silence).toBeGreaterThan(standstillMs * 0.9);
  // A process that is stopped uses no processor.
  expect(standstill.loop).toBeLessThan(standstillMs / 2);
  await using killed = await watch();
  await server.stop("SIGKILL");
  await Bun.sleep(standstillMs);
  const end = await killed.stop();
  expect([end.silence > standstillMs * 0.9, (end.statuses["0"] ?? 0) > 0]).toEqual([true, true]);
});
