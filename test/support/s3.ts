import { createHash, createHmac } from "node:crypto";
import type { TestNode } from "./node.ts";

// A client of S3 that shares nothing with the server: it signs with the crypto of Node, by the documents of AWS.

/** The host name of S3 on servers of stories. */
export const s3Host = "s3.test";
/** Options of `testNode` for a server that speaks S3. */
export const s3Options = { env: { NODE_SERVER_S3_HOST: s3Host } } as const;

export interface S3Keys {
  readonly access_key_id: string;
  readonly secret_access_key: string;
}

export interface S3Request {
  readonly method?: string;
  /** The path, percent-encoded. */
  readonly path: string;
  /** Decoded. */
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** `x-amz-content-sha256`; default: the hash of the body. */
  readonly payload?: string;
  readonly at?: number;
  readonly host?: string;
}

const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();
const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

export function queryText(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");
}

/** signingOf returns the pieces that a signature is made of, for bodies in chunks too. */
export function signingOf(keys: S3Keys, at: number) {
  const time = `${new Date(at).toISOString().replace(/[-:]|\..*/g, "")}Z`;
  const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const key = scope
    .split("/")
    .reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${keys.secret_access_key}`);
  return { time, scope, sign: (text: string) => hmac(key, text).toString("hex") };
}

/** signed returns the headers of a request with its signature. */
export function signed(keys: S3Keys, request: S3Request): Record<string, string> {
  const {
    method = "GET",
    path,
    query = {},
    headers = {},
    body = "",
    at = Date.now(),
    host = s3Host,
  } = request;
  const { time, scope, sign } = signingOf(keys, at);
  const payload = request.payload ?? sha256(body);
  const all: Record<string, string> = {
    ...headers,
    host,
    "x-amz-content-sha256": payload,
    "x-amz-date": time,
  };
  const names = Object.keys(all).sort();
  const lines = names.map((name) => `${name}:${all[name]?.trim().replace(/ +/g, " ")}\n`).join("");
  const canonical = [method, path, queryText(query), lines, names.join(";"), payload].join("\n");
  const signature = sign(["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n"));
  const authorization = `AWS4-HMAC-SHA256 Credential=${keys.access_key_id}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  return { ...all, authorization };
}

/** presigned returns the path and query of an address that is good by itself. */
export function presigned(
  keys: S3Keys,
  request: Omit<S3Request, "body" | "headers"> & { readonly expires?: number },
): string {
  const { method = "GET", path, query = {}, at = Date.now(), expires = 60, host = s3Host } = request;
  const { time, scope, sign } = signingOf(keys, at);
  const all = {
    ...query,
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": `${keys.access_key_id}/${scope}`,
    "X-Amz-Date": time,
    "X-Amz-Expires": String(expires),
    "X-Amz-SignedHeaders": "host",
  };
  const canonical = [method, path, queryText(all), `host:${host}\n`, "host", "UNSIGNED-PAYLOAD"].join("\n");
  const signature = sign(["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n"));
  return `${path}?${queryText(all)}&X-Amz-Signature=${signature}`;
}

/** s3Site makes the story's bucket, and returns a client of S3 with a token. */
export async function s3Site(node: TestNode, token = node.superToken) {
  await node.call("static-bucket_create", { token: node.superToken, name: node.bucket, public: false });
  return { ...(await s3Client(node, token)), bucket: node.bucket };
}

export async function s3Client(node: TestNode, token = node.superToken) {
  const keys = (await node.call("token_s3_credentials", { token })) as S3Keys;
  return { keys, ...clientWith(node, keys) };
}

export function clientWith(node: Pick<TestNode, "url">, keys: S3Keys) {
  const send = (request: S3Request, headers: Record<string, string>) => {
    const query = queryText(request.query ?? {});
    return fetch(`${node.url}${request.path}${query === "" ? "" : `?${query}`}`, {
      method: request.method ?? "GET",
      headers,
      redirect: "manual",
      ...(request.body === undefined ? {} : { body: request.body as string }),
    });
  };
  const s3 = (request: S3Request) => send(request, signed(keys, request));
  return {
    /** Sends a signed request. */
    s3,
    /** Sends a request with these headers alone. */
    raw: (request: S3Request, headers: Record<string, string> = {}) =>
      send(request, { host: request.host ?? s3Host, ...headers }),
    put: (path: string, body: string | Uint8Array = "", headers: Record<string, string> = {}) =>
      s3({ method: "PUT", path, body, headers }),
  };
}

/** The code of an error of S3. */
export async function codeOf(response: Response): Promise<string> {
  return `${response.status} ${/<Code>(\w+)<\/Code>/.exec(await response.text())?.[1] ?? ""}`.trim();
}

/** The texts of all elements with a name. */
export function textsIn(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map(([, text = ""]) => text);
}

export interface FormRequest {
  readonly bucket: string;
  /** Beside the signature: `key` and others, in their order. */
  readonly fields: Readonly<Record<string, string>>;
  /** Default: each field is as it is, and the bucket. */
  readonly conditions?: readonly unknown[];
  readonly at?: number;
  readonly expires?: number;
}

/** signedForm returns all fields of a form that puts a file by its policy. */
export function signedForm(keys: S3Keys, request: FormRequest): Record<string, string> {
  const { bucket, fields, at = Date.now(), expires = at + 60_000 } = request;
  const { time, scope, sign } = signingOf(keys, at);
  const proof = {
    "x-amz-algorithm": "AWS4-HMAC-SHA256",
    "x-amz-credential": `${keys.access_key_id}/${scope}`,
    "x-amz-date": time,
  };
  const own = request.conditions ?? [
    { bucket },
    ...Object.entries(fields).map(([name, value]) => ({ [name]: value })),
  ];
  const conditions = [...own, ...Object.entries(proof).map(([name, value]) => ({ [name]: value }))];
  const document = JSON.stringify({ expiration: new Date(expires).toISOString(), conditions });
  const policy = Buffer.from(document).toString("base64");
  return { ...fields, ...proof, policy, "x-amz-signature": sign(policy) };
}

/** formOf returns a form with a file behind its fields. */
export function formOf(fields: Readonly<Record<string, string>>, file: File): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("file", file);
  return form;
}
