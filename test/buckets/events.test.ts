import { expect, test } from "bun:test";
import type { EventQueue } from "../../src/base/mailbox.ts";
import { type BucketEvent, BucketEvents } from "../../src/buckets/events.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { eachStore, type TestNode } from "../support/node.ts";
import { sharedNodes } from "../support/shared-node.ts";
import type { Notification, TestSocket } from "../support/socket.ts";
import { within } from "../support/until.ts";

const nodes = sharedNodes();

type Event = BucketEvent & Readonly<Record<string, unknown>>;

async function hear(socket: TestSocket): Promise<Event> {
  const { params } = (await within("an event comes", socket.next())) as Notification;
  if (params.result === undefined) throw new Error(`not an event: ${JSON.stringify(params)}`);
  return params.result as Event;
}

async function watch(node: TestNode, socket: TestSocket, params: object = {}): Promise<void> {
  const reply = await socket.call("static-bucket_watch", {
    token: node.superToken,
    name: node.bucket,
    ...params,
  });
  expect(reply.error).toBeUndefined();
}

/** What an event says, without what differs from run to run. */
function said({ cursor: _, at: __, ...event }: Event) {
  return event;
}

eachStore(
  "a follower is told what every transport changes, by whom, and goes on after its cursor",
  async (options) => {
    await using node = await nodes(options);
    const { bucket, superToken } = node;
    await node.call("static-bucket_create", { token: superToken, name: bucket });
    const socket = await node.socket();
    await watch(node, socket);
    expect(said(await hear(socket))).toEqual({ event: "reset", reason: "begun" });
    const file = (name: string) => `${node.url}/node/static-webdav/${bucket}/${name}`;
    const headers = { authorization: `Bearer ${superToken}` };
    await node.call("static-bucket-file_upload", {
      token: superToken,
      name: bucket,
      path: "a/b.txt",
      body: "1",
    });
    await fetch(file("a/b.txt"), { method: "PUT", headers, body: "2" });
    await fetch(file("c"), { method: "MKCOL", headers });
    await fetch(file("a/b.txt"), { method: "MOVE", headers: { ...headers, destination: file("c/b.txt") } });
    await fetch(file("c"), { method: "COPY", headers: { ...headers, destination: file("d") } });
    await fetch(file("d"), { method: "DELETE", headers });
    const by = "root";
    const events: Event[] = [];
    for (let at = 0; at < 6; at += 1) events.push(await hear(socket));
    expect(events.map(said)).toEqual([
      { event: "created", path: "a/b.txt", by },
      { event: "changed", path: "a/b.txt", by },
      { event: "created", path: "c", folder: true, by },
      { event: "moved", path: "c/b.txt", from: "a/b.txt", by },
      { event: "created", path: "d", folder: true, by },
      { event: "deleted", path: "d", folder: true, by },
    ]);
    const again = await node.socket();
    await watch(node, again, { cursor: events[3]?.cursor });
    expect([said(await hear(again)), said(await hear(again))]).toEqual(events.slice(4).map(said));
    const inC = await node.socket();
    await watch(node, inC, { prefix: "c/", cursor: events[2]?.cursor });
    expect(said(await hear(inC))).toEqual({ event: "created", path: "c/b.txt", by });
    const { deploy } = (await node.call("static-bucket_deploy_begin", {
      token: superToken,
      name: bucket,
    })) as {
      deploy: string;
    };
    await node.call("static-bucket_deploy_publish", { token: superToken, name: bucket, deploy });
    for (const each of [socket, again, inC])
      expect(said(await hear(each))).toEqual({ event: "published", path: "", deploy, by });
  },
);

test("who may not list may not follow, and who loses the right is told nothing more", async () => {
  await using node = await nodes();
  const { bucket, superToken } = node;
  await node.call("static-bucket_create", { token: superToken, name: bucket });
  const limit = (permission: string) => [
    { scopes: [{ static_bucket: bucket }], permissions: [{ static_bucket_file: permission }] },
  ];
  const made = async (permission: string) =>
    (await node.call("token_create", {
      father_token: superToken,
      token_creation: { token_limit: limit(permission) },
    })) as {
      key: string;
      secret: string;
    };
  const [writer, reader] = [await made("write"), await made("list")];
  const socket = await node.socket();
  const refused = await socket.call("static-bucket_watch", {
    token: `${writer.key}:${writer.secret}`,
    name: bucket,
  });
  expect(refused.error?.data?.reason).toBe("missing_permission");
  const missing = await socket.call("static-bucket_watch", { token: superToken, name: node.own("none") });
  expect(missing.error?.code).toBe(105);
  await watch(node, socket, { token: `${reader.key}:${reader.secret}` });
  expect(said(await hear(socket))).toMatchObject({ event: "reset" });
  await node.call("token_delete", { token: superToken, target_token: reader.key });
  expect(await within("the end comes", socket.next())).toMatchObject({
    params: { end: { reason: "token_invalid" } },
  });
  await node.call("static-bucket-file_upload", { token: superToken, name: bucket, path: "x", body: "" });
  await socket.call("node-server_hello");
  expect(socket.untaken).toEqual([]);
});

/** Two nodes of one database, with a link between them that can be cut. */
function twoNodes() {
  const clock = new ManualClock();
  const stored = { version: 7, root: "r" };
  let isCut = false;
  const options = (other: () => BucketEvents) => ({
    clock,
    positions: async () => new Map([["site", { ...stored }]]),
    send: (message: string) => {
      if (!isCut) other().hear(message);
    },
  });
  const one: BucketEvents = new BucketEvents(options(() => two));
  const two: BucketEvents = new BucketEvents(options(() => one));
  return {
    one,
    two,
    clock,
    stored,
    cut: (is: boolean) => {
      isCut = is;
    },
    change(path: string) {
      stored.version += 1;
      one.notify("site", [{ event: "created", path }], {
        before: stored.version - 1,
        after: stored.version,
        root: stored.root,
      });
    },
    async [Symbol.asyncDispose]() {
      await one.close();
      await two.close();
    },
  };
}

const stop = () => new AbortController().signal;

function taken(queue: EventQueue<BucketEvent>): Event[] {
  const events: Event[] = [];
  for (let event = queue.take(); event !== undefined; event = queue.take()) events.push(event as Event);
  return events;
}

test("a change of another node is told, and one whose message is lost is not kept from anybody", async () => {
  await using nodes = twoNodes();
  const { two, clock } = nodes;
  const queue = await two.follow("site", { prefix: "", cursor: undefined }, stop());
  await clock.advance(0);
  expect(taken(queue).map(said)).toEqual([{ event: "reset", reason: "begun" }]);
  nodes.change("a");
  expect(taken(queue).map(said)).toEqual([{ event: "created", path: "a" }]);
  nodes.cut(true);
  nodes.change("b");
  nodes.cut(false);
  nodes.change("c");
  expect(taken(queue)).toEqual([]);
  await clock.advance(1000);
  await clock.advance(1000);
  const [reset, ...more] = taken(queue);
  expect(reset).toEqual({ event: "reset", reason: "lost", cursor: "10-r" } as never);
  expect(more).toEqual([]);
});

test("a cursor goes on where everything since is known, on any node, and else says so", async () => {
  await using nodes = twoNodes();
  const { one, two, clock } = nodes;
  const queue = await two.follow("site", { prefix: "", cursor: undefined }, stop());
  await clock.advance(0);
  nodes.change("a");
  nodes.change("b");
  const [, first, second] = taken(queue);
  const from = (node: BucketEvents, cursor: string | undefined) =>
    node.follow("site", { prefix: "", cursor }, stop());
  expect(taken(await from(two, first?.cursor)).map(said)).toEqual([{ event: "created", path: "b" }]);
  const elsewhere = await from(one, second?.cursor);
  expect(taken(elsewhere)).toEqual([]);
  nodes.change("c");
  expect(taken(elsewhere).map(said)).toEqual([{ event: "created", path: "c" }]);
  for (const cursor of ["1-r", "99-r", "10-other", "nonsense"])
    expect(taken(await from(two, cursor)).map(said)).toEqual([{ event: "reset", reason: "not_kept" }]);
});

test("a node that has run for long tells who follows a bucket first, or again after a while", async () => {
  await using nodes = twoNodes();
  const { one, two, clock } = nodes;
  // Longer than a bucket is kept up that nobody follows.
  const longMs = 61_000;
  await clock.advance(longMs);
  for (const path of ["a", "b"])
    for (const node of [one, two]) {
      const left = new AbortController();
      const queue = await node.follow("site", { prefix: "", cursor: undefined }, left.signal);
      await clock.advance(0);
      nodes.change(path);
      expect(taken(queue).map(said)).toEqual([
        { event: "reset", reason: "begun" },
        { event: "created", path },
      ]);
      left.abort();
      await clock.advance(longMs);
    }
});

test("who reads too slowly is told so once, and what comes then", async () => {
  await using nodes = twoNodes();
  const { one } = nodes;
  const queue = await one.follow("site", { prefix: "", cursor: undefined }, stop());
  for (let at = 0; at < 600; at += 1) nodes.change(`f${at}`);
  const events = taken(queue);
  expect(events).toHaveLength(513);
  expect(said(events.at(-1) as Event)).toEqual({ event: "reset", reason: "slow" });
  nodes.change("later");
  expect(taken(queue).map(said)).toEqual([{ event: "created", path: "later" }]);
});
