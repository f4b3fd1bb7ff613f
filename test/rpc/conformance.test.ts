import { expect } from "bun:test";
import type { TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import { test } from "../support/test.ts";
import { exampleMethods } from "./example-methods.ts";

const sharedNode = sharedNodes();
/** Their server is shared; `ran` is emptied by the stories that read it. */
const { table, ran } = exampleMethods();

/** A way to send one text and receive the text of its answer; undefined: there was none, and none was awaited. */
type Door = (node: TestNode, text: string, silent?: "silent") => Promise<string | undefined>;

/** The call whose answer shows that a text before it, which needs no waiting, gets none. */
const marker = '{"jsonrpc":"2.0","method":"node-server_hello","id":"marker"}';

const doors: Record<string, Door> = {
  async HTTP(node, text) {
    const response = await node.post(text);
    const body = await response.text();
    expect(response.status).toBe(body === "" ? 204 : 200);
    return body === "" ? undefined : body;
  },
  async WebSocket(node, text, silent) {
    const socket = new WebSocket(`${node.url.replace("http", "ws")}/jsonrpc`);
    const heard: string[] = [];
    const arrival = new Promise<void>((resolve) => {
      socket.onmessage = ({ data }) => {
        heard.push(String(data));
        resolve();
      };
    });
    await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
    socket.send(text);
    if (silent !== undefined) socket.send(marker);
    await arrival;
    socket.close();
    expect(heard).toHaveLength(1);
    return silent !== undefined && heard[0]?.includes('"id":"marker"') ? undefined : heard[0];
  },
};

function eachDoor(title: string, story: (ask: Door) => Promise<void>): void {
  for (const [name, ask] of Object.entries(doors)) test(`${title} (${name})`, () => story(ask));
}

/** As the specification prints it: `data` is each server's own. */
function withoutData(answer: unknown): unknown {
  if (Array.isArray(answer)) return answer.map(withoutData);
  if (typeof answer !== "object" || answer === null || !("error" in answer)) return answer;
  const { code, message } = answer.error as { code: unknown; message: unknown };
  return { ...answer, error: { code, message } };
}

const call = (rest: string) => `{"jsonrpc": "2.0", ${rest}}`;
const result = (result: unknown, id: unknown) => ({ jsonrpc: "2.0", result, id });
const error = (code: number, message: string, id: unknown = null) => ({
  jsonrpc: "2.0",
  error: { code, message },
  id,
});
const invalid = error(-32600, "Invalid Request");

/** https://www.jsonrpc.org/specification#examples, and what runs without an answer. */
const examples: ReadonlyArray<{ title: string; sent: string; answer: unknown; ran?: unknown[] }> = [
  {
    title: "positional parameters",
    sent: call('"method": "subtract", "params": [42, 23], "id": 1'),
    answer: result(19, 1),
  },
  {
    title: "positional parameters, the other way round",
    sent: call('"method": "subtract", "params": [23, 42], "id": 2'),
    answer: result(-19, 2),
  },
  {
    title: "named parameters",
    sent: call('"method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3'),
    answer: result(19, 3),
  },
  {
    title: "named parameters in another order",
    sent: call('"method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4'),
    answer: result(19, 4),
  },
  {
    title: "a notification",
    sent: call('"method": "update", "params": [1,2,3,4,5]'),
    answer: undefined,
    ran: [["update", 1, 2, 3, 4, 5]],
  },
  { title: "a notification of an unknown method", sent: call('"method": "foobar"'), answer: undefined },
  {
    title: "a call of an unknown method",
    sent: call('"method": "foobar", "id": "1"'),
    answer: error(-32601, "Method not found", "1"),
  },
  {
    title: "invalid JSON",
    sent: call('"method": "foobar, "params": "bar", "baz]'),
    answer: error(-32700, "Parse error"),
  },
  { title: "an invalid request object", sent: call('"method": 1, "params": "bar"'), answer: invalid },
  {
    title: "a batch of invalid JSON",
    sent: `[${call('"method": "sum", "params": [1,2,4], "id": "1"')}, {"jsonrpc": "2.0", "method" ]`,
    answer: error(-32700, "Parse error"),
  },
  { title: "an empty array", sent: "[]", answer: invalid },
  { title: "an invalid batch of one", sent: "[1]", answer: [invalid] },
  { title: "an invalid batch", sent: "[1,2,3]", answer: [invalid, invalid, invalid] },
  {
    title: "a mixed batch",
    sent: `[
      ${call('"method": "sum", "params": [1,2,4], "id": "1"')},
      ${call('"method": "notify_hello", "params": [7]')},
      ${call('"method": "subtract", "params": [42,23], "id": "2"')},
      {"foo": "boo"},
      ${call('"method": "foo.get", "params": {"name": "myself"}, "id": "5"')},
      ${call('"method": "get_data", "id": "9"')}
    ]`,
    answer: [
      result(7, "1"),
      result(19, "2"),
      invalid,
      error(-32601, "Method not found", "5"),
      result(["hello", 5], "9"),
    ],
    ran: [["notify_hello", 7]],
  },
  {
    title: "a batch of notifications",
    sent: `[${call('"method": "notify_sum", "params": [1,2,4]')}, ${call('"method": "notify_hello", "params": [7]')}]`,
    answer: undefined,
    ran: [
      ["notify_sum", 7],
      ["notify_hello", 7],
    ],
  },
];

for (const example of examples) {
  eachDoor(`the specification's example: ${example.title}`, async (ask) => {
    ran.length = 0;
    await using node = await sharedNode({ methods: table });
    const text = await ask(node, example.sent, example.answer === undefined ? "silent" : undefined);
    expect(withoutData(text === undefined ? undefined : JSON.parse(text))).toEqual(example.answer);
    expect(ran).toEqual(example.ran ?? []);
  });
}

eachDoor("a batch of one is answered by an array of one", async (ask) => {
  await using node = await sharedNode({ methods: table });
  const text = await ask(node, `[${call('"method": "subtract", "params": [42, 23], "id": 1')}]`);
  expect(JSON.parse(text ?? "")).toEqual([result(19, 1)]);
});

eachDoor("an id comes back exactly as it was sent", async (ask) => {
  await using node = await sharedNode();
  const ids = [
    ...['"a"', '""', '"1"', '"\\ud800"', "null", "0", "-7", "1.5", "1e400", "-1e400"],
    ...["12345678901234567890", "-9007199254740993"],
  ];
  for (const id of ids) {
    const answer = `{"jsonrpc":"2.0","result":"Node Server Is Running!","id":${id}}`;
    expect(await ask(node, call(`"method": "node-server_hello", "id": ${id}`))).toBe(answer);
    // A member of that name elsewhere is not the id, and each call of a batch has its own.
    const decoys = `"params": {"id": 2.5, "more": [{"id": 1e401}]}`;
    const batch = `[${call(`"method": "node-server_hello", "id": 7`)}, ${call(`${decoys}, "id": ${id}, "method": "node-server_hello"`)}]`;
    expect(await ask(node, batch)).toBe(
      `[{"jsonrpc":"2.0","result":"Node Server Is Running!","id":7},${answer}]`,
    );
    expect(await ask(node, call(`"method": "nobody", "id": ${id}`))).toEndWith(`,"id":${id}}`);
  }
});

eachDoor("an id that is an object, an array or a boolean makes the request invalid", async (ask) => {
  await using node = await sharedNode();
  for (const id of ["{}", '{"id": 1}', "[1]", "true", "false"]) {
    const text = await ask(node, call(`"method": "node-server_hello", "id": ${id}`));
    expect(withoutData(JSON.parse(text ?? ""))).toEqual(invalid);
  }
});

eachDoor("a request that is not 2.0 to the letter is invalid, and keeps its id", async (ask) => {
  await using node = await sharedNode();
  const broken = [
    '{"method": "node-server_hello", "id": 5}',
    '{"jsonrpc": "1.0", "method": "node-server_hello", "id": 5}',
    '{"jsonrpc": 2.0, "method": "node-server_hello", "id": 5}',
    call('"id": 5'),
    call('"method": null, "id": 5'),
    call('"method": ["node-server_hello"], "id": 5'),
    call('"method": "node-server_hello", "params": "none", "id": 5'),
    call('"method": "node-server_hello", "params": 0, "id": 5'),
    call('"method": "node-server_hello", "params": false, "id": 5'),
  ];
  for (const sent of broken) {
    const text = await ask(node, sent);
    expect(withoutData(JSON.parse(text ?? ""))).toEqual({ ...invalid, id: 5 });
  }
  for (const sent of ["null", "1", '"text"', "true"]) {
    const text = await ask(node, sent);
    expect(withoutData(JSON.parse(text ?? ""))).toEqual(invalid);
  }
});

eachDoor("null params are no params", async (ask) => {
  await using node = await sharedNode({ methods: table });
  const data = await ask(node, call('"method": "get_data", "params": null, "id": 1'));
  expect(JSON.parse(data ?? "")).toEqual(result(["hello", 5], 1));
  const missing = await ask(node, call('"method": "subtract", "params": null, "id": 1'));
  expect(JSON.parse(missing ?? "").error).toMatchObject({ code: -32602, data: { field: "minuend" } });
});

eachDoor("a batch runs in order, one call after the other, and answers in order", async (ask) => {
  ran.length = 0;
  await using node = await sharedNode({ methods: table });
  const calls = ["slow", "slower", "fast"].map((text, at) =>
    call(`"method": "echo_after", "params": ["${text}", ${[20, 40, 0][at]}], "id": "${text}"`),
  );
  const text = await ask(node, `[${calls.join(",")}]`);
  expect(JSON.parse(text ?? "")).toEqual(["slow", "slower", "fast"].map((text) => result(text, text)));
  const both = (text: string) => [`${text} begins`, `${text} ends`];
  expect(ran).toEqual([...both("slow"), ...both("slower"), ...both("fast")]);
});
