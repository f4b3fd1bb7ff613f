import { exactJson } from "../../base/raw-json.ts";
import { NodeServerClient, type SubscriptionName } from "../../client/index.ts";
import { exitCodes } from "../command.ts";
import { findAddress, findServer, type RemoteOptions } from "../remote/remote.ts";
import { paintFor } from "../terminal/colour.ts";
import { print, readable, untilStopped } from "../terminal/output.ts";
import { methodHelp } from "./call-help.ts";
import { credentialOf, findMethod } from "./declared.ts";
import { callExactly } from "./exact.ts";
import { parseParams } from "./params.ts";

export interface CallOptions extends RemoteOptions {
  readonly json?: boolean;
}

/** Any method of the table: its result as JSON, or as people read it on a terminal. */
export async function call(method: string, words: readonly string[], options: CallOptions): Promise<number> {
  const declared = findMethod(method);
  const params = await parseParams(method, words);
  const server = await serverFor(method, params, options);
  if (declared.event !== undefined) return follow(server, method as SubscriptionName, params);
  const { result } = await callExactly(server, method, params);
  const isForPeople = process.stdout.isTTY && !options.json;
  await print(isForPeople ? readable(result, paintFor(process.stdout)) : `${exactJson(result)}\n`);
  return exitCodes.done;
}

/** `call METHOD --help`. The curl line names the server in use, where there is one. */
export async function showMethod(method: string, options: CallOptions): Promise<number> {
  const url = await findAddress(options).catch(() => "http://127.0.0.1:2211");
  await print(methodHelp(method, url));
  return exitCodes.done;
}

/** Open methods, and calls that bring their own token, need none that is kept. */
async function serverFor(method: string, params: object, options: CallOptions) {
  const credential = credentialOf(method);
  if (credential === undefined || credential in params)
    return { url: await findAddress(options), token: undefined };
  return findServer(options);
}

/** One line of JSON an event, until somebody ends it. */
async function follow(
  { url, token }: { readonly url: string; readonly token: string | undefined },
  method: SubscriptionName,
  params: object,
): Promise<number> {
  const client = new NodeServerClient(url, { token });
  const say = (line: string) => process.stderr.write(`node-server: ${line}\n`);
  let broken = false;
  await untilStopped(async ({ signal }) => {
    const events = client.subscribe(method, params as never, {
      signal,
      onMissed: (count) => say(`${count} events were dropped: the output is read too slowly`),
      onBreak() {
        if (!broken) say("the connection broke; it is made again");
        broken = true;
      },
      onConnect(again) {
        if (again) say("connected again; events in between were missed");
        broken = false;
      },
    });
    for await (const event of events) await print(`${JSON.stringify(event)}\n`);
  });
  return exitCodes.done;
}
