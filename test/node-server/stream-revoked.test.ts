import { expect, spyOn } from "bun:test";
import { Authenticator } from "../../src/auth/authenticator.ts";
import { rollSuperToken } from "../../src/auth/super-token.ts";
import { openDatabase } from "../../src/db/database.ts";
import type { LogEntry } from "../../src/log/entry.ts";
import { LogHub } from "../../src/log/hub.ts";
import { settingsFor } from "../support/database-settings.ts";
import { frame, openWireSocket } from "../support/hostile.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { eachDatabase, type TestNode, testNode } from "../support/node.ts";
import { hello } from "../support/process.ts";
import type { Notification, TestSocket } from "../support/socket.ts";
import { exec } from "../support/sql.ts";
import { until, within } from "../support/until.ts";

const filter = "off,task=info";

async function listen(socket: TestSocket, token: string): Promise<string> {
  const reply = await socket.call("node-server_stream_log", { token, log_filter: filter });
  expect(reply.error).toBeUndefined();
  return String(reply.result);
}

interface Heard {
  readonly id: string;
  readonly entry: LogEntry;
}

async function hear(socket: TestSocket): Promise<Heard> {
  const { params } = (await within("an event comes", socket.next())) as Notification;
  return { id: params.subscription, entry: params.result as LogEntry };
}

/** The last entry of a stream, which says why it ends, and its end as data; what comes before them is passed over. */
async function farewell(socket: TestSocket, id: string): Promise<void> {
  for (;;) {
    const { id: from, entry } = await hear(socket);
    if (entry.target === "task") continue;
    expect(from).toBe(id);
    expect(entry).toEqual({
      timestamp: expect.any(String),
      level: "WARN",
      target: "server",
      message: expect.any(String),
      fields: { event: "log.ended", reason: "token_invalid" },
      spans: [],
    });
    expect(await within("the end comes", socket.next())).toMatchObject({
      method: "node-server_stream_log",
      params: { subscription: id, end: { reason: "token_invalid" } },
    });
    return;
  }
}

/** The stream is over, and its socket is not. */
async function isOver(node: TestNode, socket: TestSocket, id: string): Promise<void> {
  node.node.hub.logger("task").info("unheard");
  expect((await socket.call("node-server_unsubscribe_stream_log", [id])).result).toBe(false);
  expect((await socket.call("node-server_hello")).result).toBe(hello);
  expect(socket.untaken).toEqual([]);
}

/** Two streams, one for each form of the Super Token's credentials. */
async function twoStreams(node: TestNode) {
  const [byKey, byPassword] = [await node.socket(), await node.socket()];
  const keyId = await listen(byKey, node.superToken);
  const passwordId = await listen(byPassword, `root|${node.rootPassword}`);
  return {
    byKey,
    byPassword,
    keyId,
    passwordId,
    async [Symbol.asyncDispose]() {
      await byKey[Symbol.asyncDispose]();
      await byPassword[Symbol.asyncDispose]();
    },
  };
}

async function stillHears(node: TestNode, socket: TestSocket, id: string): Promise<void> {
  const looks = spyOn(Authenticator.prototype, "stillAuthorised");
  await until("its token was looked at again", () => looks.mock.results.length > 0);
  await Promise.all(looks.mock.results.map(({ value }) => value));
  looks.mockRestore();
  node.node.hub.logger("task").info("still heard");
  expect(await hear(socket)).toMatchObject({ id, entry: { message: "still heard" } });
}

eachDatabase("a new secret ends the streams that the old one opened, and no others", async (kind) => {
  await using node = await testNode({ database: kind });
  await using streams = await twoStreams(node);
  const { byKey, byPassword, keyId, passwordId } = streams;
  await node.call("token_roll_token_secret", [node.superToken, "root"]);
  await farewell(byKey, keyId);
  await isOver(node, byKey, keyId);
  expect(await hear(byPassword)).toMatchObject({ id: passwordId, entry: { message: "unheard" } });
  const again = await byKey.call("node-server_stream_log", { token: node.superToken, log_filter: filter });
  expect(again.error?.data?.reason).toBe("invalid_credentials");
  await stillHears(node, byPassword, passwordId);
});

eachDatabase("a new password ends the streams that the old one opened, and no others", async (kind) => {
  await using node = await testNode({ database: kind });
  await using streams = await twoStreams(node);
  const { byKey, byPassword, keyId, passwordId } = streams;
  await node.call("token_change_password", [node.superToken, "root", "correct horse"]);
  await farewell(byPassword, passwordId);
  await isOver(node, byPassword, passwordId);
  expect(await hear(byKey)).toMatchObject({ id: keyId, entry: { message: "unheard" } });
  await stillHears(node, byKey, keyId);
});

eachDatabase("a token that another process rolls ends all its streams within seconds", async (kind) => {
  await using node = await testNode({ database: kind });
  await using streams = await twoStreams(node);
  const { byKey, byPassword, keyId, passwordId } = streams;
  const beside = await openDatabase(settingsFor(node.databaseUrl), new LogHub(), { create: false });
  const made = await rollSuperToken(beside);
  await beside.close();
  await within("both streams end", Promise.all([farewell(byKey, keyId), farewell(byPassword, passwordId)]));
  await isOver(node, byKey, keyId);
  await isOver(node, byPassword, passwordId);
  expect(await listen(byKey, made.token)).not.toBe(keyId);
});

eachDatabase("a hash that exec_sql changes ends the stream it stood for", async (kind) => {
  await using node = await testNode({ database: kind });
  await using streams = await twoStreams(node);
  const { byKey, byPassword, keyId, passwordId } = streams;
  const { row_count } = await exec(node, "UPDATE token SET token_hash = 'x' WHERE id = 1");
  expect(row_count).toBe(1);
  await within("the stream ends", farewell(byKey, keyId));
  await isOver(node, byKey, keyId);
  expect(await hear(byPassword)).toMatchObject({ id: passwordId, entry: { message: "unheard" } });
  await node.sql("DELETE FROM token WHERE id = 1");
  await within("the other stream ends", farewell(byPassword, passwordId));
});

eachDatabase("the end comes with the change, not with the next look around", async (kind) => {
  // The next look does not come: the clock stands.
  await using node = await testNode({ database: kind, clock: new ManualClock() });
  await using socket = await node.socket();
  const id = await listen(socket, node.superToken);
  await node.call("token_roll_token_secret", [node.superToken, "root"]);
  await within("the stream ends", farewell(socket, id));
});

eachDatabase("many streams of one token all end, and the log has nobody to tell", async (kind) => {
  await using node = await testNode({ database: kind });
  await using socket = await node.socket();
  const ids = new Set<string>();
  for (let n = 0; n < 50; n += 1) ids.add(await listen(socket, node.superToken));
  await node.call("token_roll_token_secret", [node.superToken, "root"]);
  while (ids.size > 0) {
    const { id, entry } = await hear(socket);
    expect(entry.fields).toEqual({ event: "log.ended", reason: "token_invalid" });
    const { params } = (await within("the end comes", socket.next())) as Notification;
    expect(params).toEqual({ subscription: id, end: { reason: "token_invalid" } });
    expect(ids.delete(id)).toBe(true);
  }
  await until("nobody listens", () => !node.node.hub.logger("task").wants("INFO"));
});

eachDatabase("a change of another token ends nobody's stream", async (kind) => {
  await using node = await testNode({ database: kind });
  await using socket = await node.socket();
  const id = await listen(socket, node.superToken);
  const limits = [{ scopes: ["global"], permissions: [{ node: "exec_sql" }] }];
  const other = await node.newToken(limits, { username: "alice", password: "incorrect horse" });
  await node.call("token_roll_token_secret", [node.superToken, "alice"]);
  await node.call("token_delete", [node.superToken, other.split(":")[0]]);
  await stillHears(node, socket, id);
});

eachDatabase("a reader that stalls does not keep the others' streams alive", async (kind) => {
  await using node = await testNode({ database: kind });
  using stalled = await openWireSocket(node.url);
  const params = { token: node.superToken, log_filter: filter };
  const call = JSON.stringify({ jsonrpc: "2.0", method: "node-server_stream_log", params, id: 1 });
  for (let n = 1; n <= 10; n += 1) stalled.write(frame(call));
  await stalled.hears(/("result":"[\s\S]*){10}/);
  stalled.stopReading();
  // Answers pile up behind what it does not read, so that nothing more can leave.
  for (let n = 0; n < 500; n += 1) stalled.write(frame('{"jsonrpc":"2.0","method":"rpc.discover","id":2}'));
  await using socket = await node.socket();
  const id = await listen(socket, node.superToken);
  await node.call("token_roll_token_secret", [node.superToken, "root"]);
  await within("the stream of the one that reads ends", farewell(socket, id));
});
