import type { Command } from "commander";
import { escapeControls, exactJson } from "../../base/json.ts";
import { visibleLines } from "../../base/visible-text.ts";
import type { ParamsOf, ResultOf, SubscriptionName } from "../../client/index.ts";
import { type NamedTypes, needWords, typeText } from "../../rpc/discover.ts";
import { exitCodes, type Outcome } from "../command.ts";
import type { Context } from "../context.ts";
import { type NewCredentials, renewLogin, usernameIn } from "../login/login.ts";
import { isUnixAddress } from "../remote/addresses.ts";
import {
  callExactly,
  clientFor,
  findServer,
  findTarget,
  type RemoteOptions,
  type Target,
} from "../remote/remote.ts";
import { type Paint, paintFor } from "../terminal/colour.ts";
import { untilStopped } from "../terminal/interrupt.ts";
import { alignedText, tableText } from "../terminal/table.ts";
import { credentialOf, findMethod, methodNames, paramsOf, parseParams } from "./declaration.ts";

interface CallOptions extends RemoteOptions {
  readonly method?: string;
  readonly params: readonly string[];
  readonly json?: boolean;
  readonly help?: boolean;
}

/** callNotes ends the help of `call`. */
const callNotes = () => `
Params are one JSON object, or key=value: a value is read as JSON unless the param is a text, and
key=@file reads it from a file (@- from standard input). The token is added.
\`node-server call METHOD --help\` shows the help of one method.

${methodList()}`;

/** Calls a method, or prints the help of the command or of the method. */
export async function call(options: CallOptions, ctx: Context, command: Command): Promise<Outcome | number> {
  const { method, params: args } = options;
  if (method !== undefined)
    return options.help ? showMethod(ctx, method, options) : callMethod(ctx, method, args, options);
  if (!options.help) return command.error("error: missing required argument 'method'");
  return { text: command.helpInformation() + callNotes() };
}

/** Prints the result as JSON, or on a terminal as people read it. */
async function callMethod(
  ctx: Context,
  method: string,
  args: readonly string[],
  options: CallOptions,
): Promise<number> {
  const declared = findMethod(method);
  const params = await parseParams(ctx, method, args);
  const server = await serverFor(ctx, method, params, options);
  if (declared.event !== undefined) return follow(ctx, server, method as SubscriptionName, params);
  const renewed = await renewedBy(server, method, params);
  const result = await callExactly(server, method, params);
  const isForPeople = ctx.out.isTTY && !options.json;
  await ctx.print(isForPeople ? readable(result, paintFor(ctx)) : `${escapeControls(exactJson(result))}\n`);
  if (method === "token_roll_token_secret")
    await renewLogin(ctx, server, result as ResultOf<"token_roll_token_secret">);
  else if (renewed !== undefined) await renewLogin(ctx, server, renewed);
  return exitCodes.done;
}

/**
 * Returns the new password of the caller's own login, if the call changes it. Must be called before it, while the old password is
 * valid.
 */
async function renewedBy(
  target: Target,
  method: string,
  params: object,
): Promise<NewCredentials | undefined> {
  if (method !== "token_change_password" || target.token === undefined) return undefined;
  const username = usernameIn(target.token);
  if (username === undefined) return undefined;
  const { target_token, new_password } = params as ParamsOf<"token_change_password">;
  const { token_key } = await clientFor(target).call("token_get");
  const isOwn = target_token === username || target_token.split(":", 1)[0] === token_key;
  return isOwn ? { username, password: new_password } : undefined;
}

/** Prints the help of a method. Its curl line names the server in use, if there is one. */
async function showMethod(ctx: Context, method: string, options: CallOptions): Promise<Outcome> {
  const { url } = await findTarget(ctx, options).catch(() => ({ url: "http://127.0.0.1:2211" }));
  return { text: methodHelp(method, url) };
}

/** Finds the server of a call. No saved token is needed for methods without one, nor for calls that bring their own. */
async function serverFor(
  ctx: Context,
  method: string,
  params: object,
  options: CallOptions,
): Promise<Target> {
  const credential = credentialOf(method);
  if (credential !== undefined && !(credential in params)) return findServer(ctx, options);
  return { ...(await findTarget(ctx, options)), token: undefined };
}

/** Prints events, one line of JSON each, until it is stopped. */
async function follow(
  ctx: Context,
  target: Target,
  method: SubscriptionName,
  params: object,
): Promise<number> {
  const client = clientFor(target);
  const say = (line: string) => ctx.say(`node-server: ${line}`);
  let broken = false;
  await untilStopped(ctx, async ({ signal }) => {
    const events = client.subscribe(method, params as never, {
      signal,
      onMissed: (count) => say(`${count} events were dropped: the output is read too slowly`),
      onBreak() {
        if (!broken) say("the connection broke; reconnecting");
        broken = true;
      },
      onConnect(again) {
        if (again) say("connected again; events in between were missed");
        broken = false;
      },
    });
    for await (const event of events) await ctx.printJson(event);
  });
  return exitCodes.done;
}

/** Formats a result for people: a text as it is, a list by lines, records as a table, everything else as indented JSON. */
function readable(value: unknown, paint: Paint): string {
  if (typeof value === "string") return `${visibleLines(value)}\n`;
  if (Array.isArray(value) && value.length > 0) {
    if (value.every((item) => typeof item === "string"))
      return value.map((item) => `${visibleLines(item)}\n`).join("");
    if (value.every(isFlat))
      return tableText(Object.keys(value[0] ?? {}), value, { paint, maxWidth: 100 }).text;
  }
  return `${visibleLines(exactJson(value, 2)).replace(/^( *)("(?:[^"\\]|\\.)*")(?=: )/gm, (_, space, name) => space + paint("cyan", name))}\n`;
}

/**
 * `isFlat` returns whether a value is a record that fits into a row: no nested values, and the same members as the first of the list.
 */
function isFlat(item: unknown, _: number, all: readonly unknown[]): item is Record<string, unknown> {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return false;
  const names = Object.keys(item);
  return (
    names.length > 0 &&
    names.join("\0") === Object.keys(all[0] as object).join("\0") &&
    Object.values(item).every((value) => typeof value !== "object" || value === null)
  );
}

/** Wider cells are not padded to, so that one long type does not move all descriptions. */
const maxWidth = 40;

/** The help of a method, from its declaration: what it does, needs, takes and returns. */
function methodHelp(name: string, url: string): string {
  const method = findMethod(name);
  const named: NamedTypes = new Map();
  const params = paramsOf(name).map((param) => [
    `  ${param.name}${param.required ? "" : "?"}`,
    typeText(param.type, "input", named),
    param.description,
  ]);
  const result = typeText(method.result, "output", named);
  const event = method.event === undefined ? undefined : typeText(method.event, "output", named);
  const types = [...named].map(([type, text]) => `  ${type} = ${text.replaceAll("} | {", "}\n    | {")}\n`);
  return [
    `${name}\n\n${method.replacedBy === undefined ? "" : `Deprecated: use ${method.replacedBy}. `}${method.doc}\n`,
    `Needs: ${needWords(method).replaceAll("`", "")}\n`,
    params.length === 0
      ? "Takes no params.\n"
      : `Params (? may be left out):\n${alignedText(params, maxWidth)}`,
    event === undefined ? `Result: ${result}\n` : `Each event: ${event}\n`,
    ...(types.length === 0 ? [] : [`Types:\n${types.join("")}`]),
    event === undefined
      ? `With curl:\n  ${curlLine(name, url)}\n`
      : `Events come over WebSocket, so there is no curl line:\n  node-server call ${name}${exampleArguments(name)}\n`,
  ].join("\n");
}

/** Lists every method with the first sentence of its description. */
function methodList(): string {
  const rows = methodNames.map((name) => [`  ${name}`, findMethod(name).doc.split(/(?<=\.) /, 1)[0] ?? ""]);
  return `Methods:\n${alignedText(rows, maxWidth)}`;
}

/** A curl command that can be pasted; it takes the token from the environment. */
function curlLine(name: string, url: string): string {
  const params = Object.fromEntries(exampleParams(name));
  const credential = credentialOf(name);
  const mark = "@token@";
  const all = credential === undefined ? params : { [credential]: mark, ...params };
  const request = {
    jsonrpc: "2.0",
    method: name,
    ...(Object.keys(all).length > 0 ? { params: all } : {}),
    id: 1,
  };
  const body = quoted(JSON.stringify(request)).replace(mark, `'"$NODE_SERVER_TOKEN"'`);
  const address = isUnixAddress(url)
    ? `--unix-socket ${quoted(url.slice("unix:".length))} http://localhost/jsonrpc`
    : quoted(`${url}/jsonrpc`);
  return `curl -sS -H 'content-type: application/json' -d ${body} ${address}`;
}

function exampleArguments(name: string): string {
  return exampleParams(name)
    .map(
      ([param, value]) =>
        ` ${quoted(`${param}=${typeof value === "string" ? value : JSON.stringify(value)}`)}`,
    )
    .join("");
}

function exampleParams(name: string): [string, unknown][] {
  const names = paramsOf(name).map((param) => param.name);
  return Object.entries(findMethod(name).example?.params ?? {}).filter(([param]) => names.includes(param));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
