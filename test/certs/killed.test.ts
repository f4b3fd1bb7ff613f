import { afterAll, expect } from "bun:test";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { issuedFor, ordersFrom, serverName } from "../support/certs.ts";
import { configText, tempFolder } from "../support/node.ts";
import { openPebble } from "../support/pebble.ts";
import { test } from "../support/test.ts";
import { within } from "../support/until.ts";

const opened = await openPebble();
afterAll(() => opened?.[Symbol.asyncDispose]());

/** The steps of an order, by what the authority is asked. */
const steps = [
  ...["/dir", "/nonce-plz", "/sign-me-up", "/order-plz", "/authZ/", "/chalZ/"],
  ...["/my-order/", "/finalize-order/", "/certZ/"],
];

if (opened !== undefined) {
  const pebble = opened;
  const program = join(import.meta.dir, "../support/certs-process.ts");

  /** A server in a process of its own. */
  const start = (configPath: string) => {
    const origin = `http://127.0.0.1:${pebble.httpPort}`;
    const child = Bun.spawn([process.execPath, program, configPath, origin], {
      stdout: "pipe",
      stderr: "inherit",
      env: { PATH: process.env.PATH, HOME: process.env.HOME },
    });
    const url = async () => {
      for await (const chunk of child.stdout) return Buffer.from(chunk).toString().trim();
      throw new Error("the server did not start");
    };
    return { child, url: url() };
  };

  for (const when of ["before", "after"] as const)
    test(`kill -9 ${when} the authority gets each request of an order: the next start has a certificate, and no lost key`, async () => {
      for (const step of steps) {
        await using folder = await tempFolder();
        const configPath = join(folder.path, "config.toml");
        const { top = "" } = ordersFrom(pebble);
        const orders = () => pebble.requests.filter((path) => path === "/order-plz").length;
        const before = orders();
        await writeFile(configPath, configText(`sqlite://${folder.path}/data/node.db?mode=rwc`, { top }));
        const killed = start(configPath);
        let isKilled = false;
        pebble.intercept = async (path) => {
          if (isKilled || !path.startsWith(step)) return undefined;
          isKilled = true;
          const kill = () => killed.child.kill("SIGKILL");
          if (when === "before") {
            kill();
            return new Response(null, { status: 500 });
          }
          // Once the authority has worked on it, which may be the second time: it refuses some requests for their nonce.
          pebble.answered = (answered) => {
            if (answered === path) kill();
          };
          return undefined;
        };
        await within(`the server is killed at ${step}`, killed.child.exited);
        pebble.intercept = undefined;
        pebble.answered = undefined;
        const next = start(configPath);
        try {
          await issuedFor({ url: await next.url }, serverName);
          // An order that the authority has finished is not made again.
          if (step === "/certZ/" || (step === "/finalize-order/" && when === "after"))
            expect(orders()).toBe(before + 1);
          const files = await readdir(join(folder.path, "data/certificates"));
          expect(files.filter((file) => file.startsWith("account-"))).toHaveLength(1);
        } finally {
          next.child.kill("SIGKILL");
          await next.child.exited;
        }
      }
    }, 240_000);
}
