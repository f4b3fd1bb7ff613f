import { type NamedTypes, needWords, typeText } from "../../rpc/discover.ts";
import { isUnixAddress } from "../remote/addresses.ts";
import { alignedText } from "../terminal/table.ts";
import { credentialOf, findMethod, methodNames, paramsOf } from "./declaration.ts";

/** Wider cells are not padded to, so that one long type does not move all descriptions. */
const maxWidth = 40;

/** The help of a method, from its declaration: what it does, needs, takes and returns. */
export function methodHelp(name: string, url: string): string {
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
export function methodList(): string {
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
