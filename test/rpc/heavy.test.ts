import { expect, test } from "bun:test";
import { helloAt, sharedServer } from "../support/process.ts";
import { within } from "../support/until.ts";

/** The default of `max_request_body_size`. */
const largest = 10 * 1024 * 1024;
/** One event loop serves everybody: what it does for a stranger, the others wait for. */
const patienceMs = 10_000;

const call = (method: string, params: string, id = "1") =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
/** As many as fit beside an envelope. */
const fill = (item: string, upTo = Number.POSITIVE_INFINITY) =>
  Array(Math.min(upTo, Math.floor((largest - 500) / (item.length + 1))))
    .fill(item)
    .join(",");
const rights = (limit: string) => `["no:body",{"token_limit":[${fill(limit, 1000)}]}]`;
const wrong = Array(1000).fill("{}").join(",");

const requests = {
  "a long array under an id of 20 digits": call(
    "node-server_hello",
    `[${fill("0")}]`,
    "12345678901234567890",
  ),
  "a long array of objects under a fractional id": call("node-server_hello", `[${fill("{}")}]`, "1.5"),
  "a batch of long calls": `[${fill(call("token_get", `[${Array(5000).fill("0")}]`, "1e400"), 1000)}]`,
  "a batch of a thousand fractional ids that cannot be found in the text": `[${call(
    "node-server_hello",
    `[${Array(1_050_000).fill('{"id":1}')}]`,
  )},${Array(999).fill(`{"jsonrpc":"2.0","\\u0069d":1.5,"method":"x"}`)}]`,
  "a thousand limits of a thousand wrong permissions": call(
    "token_create",
    rights(`{"scopes":[],"permissions":[${wrong}]}`),
  ),
  "a thousand limits of a thousand wrong scopes": call(
    "token_create",
    rights(`{"permissions":[],"scopes":[${wrong}]}`),
  ),
  "a log filter of a million items": call("node-server_stream_log", `["no:body","${fill("a=info")}"]`),
};

// A process of its own, so that the client's clock runs on while the server is busy.
const server = sharedServer();

for (const [name, body] of Object.entries(requests)) {
  test(`a stranger's request does not hold up the others: ${name}`, async () => {
    expect(body.length).toBeLessThanOrEqual(largest);
    const { url } = await server();
    const answer = fetch(`${url}/jsonrpc`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    const ended = answer.then(
      () => true,
      () => true,
    );
    // Asked again and again until the heavy one is through, so that one of them waits behind it.
    for (let over = false; !over; ) {
      const hello = await within("another caller is answered", helloAt(url), patienceMs);
      expect(hello).toBe("Node Server Is Running!");
      over = await Promise.race([ended, Bun.sleep(10).then(() => false)]);
    }
    // 413: it would cost more to parse than a stranger may ask for.
    expect([200, 413]).toContain((await answer).status);
  });
}
