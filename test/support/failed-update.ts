import { expect } from "bun:test";
import { statSync } from "node:fs";
import {
  bothBinaries,
  expectNoRestart,
  type Installation,
  justTheBinary,
  type Program,
} from "./installed.ts";
import { until } from "./until.ts";
import { digestOf, type Versions } from "./update.ts";

/** An update that must fail: an error that says why, and everything as before. */
export async function expectFailure(home: Installation, server: Program, why: RegExp): Promise<void> {
  const { ino, mtimeMs } = statSync(home.binary);
  const { error, result } = await server.update("v2.0.0");
  expect({ result, message: error?.message }).toEqual({
    result: undefined,
    message: expect.stringMatching(why),
  });
  expect(error?.code).toBeGreaterThan(100);
  expect(home.files()).toEqual(justTheBinary);
  expect(statSync(home.binary)).toMatchObject({ ino, mtimeMs });
  expect(await server.version()).toBe("1.0.0");
}

/** After failures: no restart is scheduled, the log knows of them, and a good release is taken. */
export async function expectRecovery(
  { home, server, versions }: { home: Installation; server: Program; versions: Versions },
  failures: number,
): Promise<void> {
  await expectNoRestart(server);
  const failed = (await server.log()).filter(({ level }) => level === "ERROR");
  expect(failed.map(({ message }) => message)).toEqual(Array(failures).fill("update failed"));
  expect(await server.update("v2.0.0")).toMatchObject({ result: null });
  await server.runs(versions.two);
  await until("the new version has confirmed itself", () => home.files().length === 2);
  expect(home.files()).toEqual(bothBinaries);
  expect(await digestOf(`${home.binary}.old`)).toBe(versions.one.digest);
}
