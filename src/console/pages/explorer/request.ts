import type { Param } from "./param.ts";

/** What stands in place of a secret on the screen. */
const hidden = "••••••";

/** The request as it is sent, but for the secrets in it. The credential stands in it, typed or not. */
export function shownRequest(
  method: string,
  declared: readonly Param[],
  params: Readonly<Record<string, unknown>>,
): object {
  const shown = Object.fromEntries(
    declared
      .filter(({ name, isCredential }) => isCredential || name in params)
      .map(({ name, isSecret }) => [name, isSecret && params[name] !== null ? hidden : params[name]]),
  );
  return { jsonrpc: "2.0", id: 1, method, params: shown };
}

/** A secret in the line for the shell: the name of its variable. */
export interface Variable {
  readonly variable: string;
}

export interface CurlLine {
  readonly line: string;
  /** To be set before the line is run. */
  readonly variables: readonly string[];
}

/** The same request for a shell. Secrets are left to variables, so that they stay out of its history. */
export function curlLine(
  url: string,
  method: string,
  declared: readonly Param[],
  params: Readonly<Record<string, unknown>>,
): CurlLine {
  const body: Array<string | Variable> = [
    `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":{`,
  ];
  const sent = declared.filter(({ name, isCredential }) => isCredential || name in params);
  for (const [at, param] of sent.entries()) {
    body.push(`${at === 0 ? "" : ","}${JSON.stringify(param.name)}:`);
    if (param.isSecret && params[param.name] !== null) body.push('"', { variable: variableOf(param) }, '"');
    else body.push(JSON.stringify(params[param.name]));
  }
  body.push("}}");
  const variables = body.flatMap((part) => (typeof part === "string" ? [] : [part.variable]));
  return {
    line: `curl -sS ${quoted([`${url}/jsonrpc`])} -H 'content-type: application/json' --data-raw ${quoted(body)}`,
    variables,
  };
}

function variableOf({ isCredential, name }: Param): string {
  return isCredential ? "TOKEN" : name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
}

/** One word for `sh`: texts in single quotes, in which nothing counts, and variables in double ones. */
function quoted(parts: ReadonlyArray<string | Variable>): string {
  const texts = parts.map((part) =>
    typeof part === "string" ? part.replaceAll("'", "'\\''") : `'"$${part.variable}"'`,
  );
  return `'${texts.join("")}'`;
}
