import { expect } from "bun:test";
import { Authority } from "../../src/certs/authority.ts";
import { httpAnswerer } from "../../src/certs/challenges.ts";
import { test } from "../support/test.ts";

const { signal } = new AbortController();

test("an authority that refuses a request as unauthorized refuses the account, not the name", async () => {
  const problem = { type: "urn:ietf:params:acme:error:unauthorized", detail: "the account is deactivated" };
  await using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.json(problem, { status: 403 }),
  });
  const settings = {
    directory: server.url.href,
    ca: undefined,
    email: undefined,
    externalAccount: undefined,
  };
  const authority = new Authority(settings, async () => "no key is needed");
  const answerer = httpAnswerer({ challenges: {} as never }, { nowMs: () => 0 });
  await expect(
    authority.order("example.com", { answerer, replaces: undefined, signal }),
  ).rejects.toMatchObject({ reason: "account_refused", message: problem.detail });
});
