import { hashesMatch } from "../../auth/credentials.ts";
import { wholeNumber } from "../../base/numbers.ts";
import { S3Error } from "./errors.ts";

const algorithm = "AWS4-HMAC-SHA256";
/** How far the clock of a client may be off. */
const maxSkewMs = 15 * 60_000;
/** A presigned address is good for a week at most. */
const maxExpiresSeconds = 7 * 86_400;
/** Signing keys that are remembered: each takes four HMACs, and changes once a day. */
const maxSigningKeys = 1000;
const hashOfNothing = sha256("");
/** The value of `x-amz-content-sha256` for a body that the signature does not cover. */
const unsignedPayload = "UNSIGNED-PAYLOAD";

/** Query has the parameters of an address, decoded. Of equal names the first one counts. */
export type Query = ReadonlyMap<string, string>;

/** SignedTarget is what a signature is over, apart from the headers. */
export interface SignedTarget {
  readonly request: Request;
  /** The whole path as in `request.url`. */
  readonly rawPath: string;
  readonly rawQuery: string;
}

/**
 * Signature is a signature of version 4 as a request has it, in its header or, presigned, in its address or its form. Whether it is right takes the
 * secret: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html.
 */
export class Signature {
  /** `x-amz-content-sha256`: the hash of the body, or how its chunks are signed. */
  readonly payload: string;
  readonly key: string;
  readonly signature: string;
  readonly #time: string;
  /** Date, region, service and `aws4_request`. */
  readonly #scope: string;
  readonly #text: string;
  /** Known once a secret was right. */
  #signingKey: Buffer | undefined;

  private constructor({ key, scope, time, signature, payload, text }: SignatureParts) {
    this.key = key;
    this.signature = signature;
    this.payload = payload;
    this.#time = time;
    this.#scope = scope;
    this.#text = text;
  }

  /** read returns the signature of a request; undefined if it has none. Throws S3Error for one that no secret makes right now. */
  static read(target: SignedTarget, nowMs: number): Signature | undefined {
    const header = target.request.headers.get("authorization");
    if (header !== null) return Signature.#fromHeader(header, target, nowMs);
    if (target.rawQuery.includes("X-Amz-")) return Signature.#fromQuery(target, nowMs);
    if (/(^|&)AWSAccessKeyId=/.test(target.rawQuery))
      throw new S3Error(
        "InvalidRequest",
        "the address has a signature of version 2; set the client to version 4 (s3v4)",
      );
    return undefined;
  }

  static #fromHeader(header: string, target: SignedTarget, nowMs: number): Signature {
    const { headers } = target.request;
    const [, given = ""] = /^AWS4-HMAC-SHA256\s+(.+)$/.exec(header) ?? [];
    if (given === "")
      throw new S3Error(
        "InvalidRequest",
        "this address accepts signatures of version 4 alone; use AWS4-HMAC-SHA256",
      );
    const fields = fieldsIn(given);
    const time = headers.get("x-amz-date") ?? basicTime(headers.get("date"));
    const malformed = (why: string) => new S3Error("AuthorizationHeaderMalformed", why);
    const { key, scope, day } = readCredential(fields.get("Credential") ?? "", malformed);
    const signedHeaders = fields.get("SignedHeaders") ?? "";
    const signedAt = parseTime(time);
    if (signedAt === undefined || time.slice(0, 8) !== day)
      throw malformed("the request needs x-amz-date, of the same day as its Credential");
    if (Math.abs(nowMs - signedAt) > maxSkewMs)
      throw new S3Error(
        "RequestTimeTooSkewed",
        "the clock of the client is more than 15 minutes off; set it right",
      );
    const payload = headers.get("x-amz-content-sha256");
    if (payload === null) throw new S3Error("InvalidRequest", "the header x-amz-content-sha256 is missing");
    assertSigned(headers, signedHeaders);
    const text = textToSign(time, scope, canonicalRequest(target, { signedHeaders, payload }));
    return new Signature({ key, scope, time, payload, text, signature: fields.get("Signature") ?? "" });
  }

  static #fromQuery(target: SignedTarget, nowMs: number): Signature {
    const { headers } = target.request;
    const query = parseQuery(target.rawQuery);
    const malformed = (why: string) => new S3Error("AuthorizationQueryParametersError", why);
    const one = (name: string) => query.get(name) ?? "";
    if (one("X-Amz-Algorithm") !== algorithm) throw malformed(`X-Amz-Algorithm must be ${algorithm}`);
    const { key, scope, day } = readCredential(one("X-Amz-Credential"), malformed);
    const time = one("X-Amz-Date");
    const signedAt = parseTime(time);
    if (signedAt === undefined || time.slice(0, 8) !== day)
      throw malformed("X-Amz-Date must be a time of the day in X-Amz-Credential");
    const expires = wholeNumber(query.get("X-Amz-Expires")) ?? 0;
    if (expires === 0 || expires > maxExpiresSeconds)
      throw malformed(`X-Amz-Expires must be a number of seconds from 1 to ${maxExpiresSeconds}`);
    if (nowMs < signedAt - maxSkewMs)
      throw new S3Error("AccessDenied", "the address is not valid yet; check the clock of the client");
    if (nowMs > signedAt + expires * 1000) throw new S3Error("AccessDenied", "the address has expired");
    const signedHeaders = one("X-Amz-SignedHeaders");
    assertSigned(headers, signedHeaders, "x-amz-content-sha256");
    const isBodySigned = signedHeaders.split(";").includes("x-amz-content-sha256");
    const payload =
      query.get("X-Amz-Content-Sha256") ??
      (isBodySigned ? headers.get("x-amz-content-sha256") : null) ??
      unsignedPayload;
    const text = textToSign(time, scope, canonicalRequest(target, { signedHeaders, payload }));
    return new Signature({ key, scope, time, payload, text, signature: one("X-Amz-Signature") });
  }

  /** ofPolicy returns the signature of a form, which covers its policy. Throws S3Error for one that no secret makes right now. */
  static ofPolicy(fields: ReadonlyMap<string, string>, nowMs: number): Signature {
    const malformed = (why: string) => new S3Error("InvalidArgument", why);
    const one = (name: string) => fields.get(name) ?? "";
    if (one("x-amz-algorithm") !== algorithm)
      throw malformed(`the field x-amz-algorithm of the form must be ${algorithm}`);
    const { key, scope, day } = readCredential(one("x-amz-credential"), malformed);
    const time = one("x-amz-date");
    const signedAt = parseTime(time);
    if (signedAt === undefined || time.slice(0, 8) !== day)
      throw malformed("the field x-amz-date of the form must be a time of the day in x-amz-credential");
    if (nowMs < signedAt - maxSkewMs || nowMs > signedAt + maxExpiresSeconds * 1000)
      throw new S3Error("AccessDenied", "the form was signed more than a week ago, or is not valid yet");
    const signature = one("x-amz-signature");
    return new Signature({ key, scope, time, payload: unsignedPayload, text: one("policy"), signature });
  }

  /** isSignedWith returns whether a secret makes this signature. */
  isSignedWith(secret: string): boolean {
    const name = `${secret}\n${this.#scope}`;
    const known = signingKeys.get(name);
    const key = known ?? signingKey(secret, this.#scope);
    if (!hashesMatch(hmac(key, this.#text).toString("hex"), this.signature)) return false;
    // Only those of right secrets: strangers must not drive them out.
    if (known === undefined) rememberSigningKey(name, key);
    this.#signingKey = key;
    return true;
  }

  /** chunkSignature returns the signature of a chunk of the body, or of its trailer; `previous` is that of what came before. */
  chunkSignature(kind: "PAYLOAD" | "TRAILER", previous: string, hash: string): string {
    const empty = kind === "PAYLOAD" ? `${hashOfNothing}\n` : "";
    const text = `AWS4-HMAC-SHA256-${kind}\n${this.#time}\n${this.#scope}\n${previous}\n${empty}${hash}`;
    if (this.#signingKey === undefined) throw new TypeError("the signature was not checked");
    return hmac(this.#signingKey, text).toString("hex");
  }
}

interface SignatureParts extends Pick<Signature, "key" | "signature" | "payload"> {
  readonly scope: string;
  readonly time: string;
  /** What is signed. */
  readonly text: string;
}

/** fieldsIn reads `<name>=<value>, …`. */
function fieldsIn(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (let start = 0; start <= text.length; ) {
    const comma = text.indexOf(",", start);
    const end = comma === -1 ? text.length : comma;
    const part = text.slice(start, end).trim();
    const at = part.indexOf("=");
    if (at === -1) fields.set(part, "");
    else fields.set(part.slice(0, at), part.slice(at + 1));
    start = end + 1;
  }
  return fields;
}

function textToSign(time: string, scope: string, canonical: string): string {
  return `${algorithm}\n${time}\n${scope}\n${sha256(canonical)}`;
}

/** readCredential reads `<key>/<day>/<region>/s3/aws4_request`; every region is right. */
function readCredential(text: string, malformed: (why: string) => S3Error) {
  const [, key = "", scope = "", day = ""] =
    /^([^/]{1,512})\/((\d{8})\/[^/]{1,64}\/s3\/aws4_request)$/.exec(text) ?? [];
  if (key === "") throw malformed("the Credential must read <access key>/<day>/<region>/s3/aws4_request");
  return { key, scope, day };
}

/**
 * assertSigned throws unless the signature covers the host and every header that S3 has a meaning for: whoever is given a presigned address
 * must not be able to make another request of it, such as a copy.
 */
function assertSigned(headers: Headers, signedHeaders: string, except?: string): void {
  const { distinct: signed } = namesIn(signedHeaders);
  if (!signed.has("host")) throw new S3Error("AccessDenied", "the signature must cover the header host");
  for (const name of headers.keys())
    if (name.startsWith("x-amz-") && name !== except && !signed.has(name))
      throw new S3Error("AccessDenied", `the signature must cover the header ${name}`);
}

interface SignedNames {
  readonly inOrder: readonly string[];
  readonly distinct: ReadonlySet<string>;
}

/** Lists of signed headers that were read: a client has few. */
const knownNames = new Map<string, SignedNames>();
const maxKnownNames = 256;
const maxKnownNamesChars = 512;

function namesIn(signedHeaders: string): SignedNames {
  const known = knownNames.get(signedHeaders);
  if (known !== undefined) return known;
  // The same names as tokens of RFC 9110: others could not be looked up.
  if (!/^[\w!#$%&'*+.^`|~-]+(?:;[\w!#$%&'*+.^`|~-]+)*$/.test(signedHeaders))
    throw new S3Error("AccessDenied", "the signature must name the headers that it covers");
  const inOrder = signedHeaders.split(";");
  const names = { inOrder, distinct: new Set(inOrder) };
  if (signedHeaders.length > maxKnownNamesChars) return names;
  if (knownNames.size >= maxKnownNames) knownNames.clear();
  knownNames.set(signedHeaders, names);
  return names;
}

function canonicalRequest(
  { request: { method, headers }, rawPath, rawQuery }: SignedTarget,
  { signedHeaders, payload }: { readonly signedHeaders: string; readonly payload: string },
): string {
  let lines = "";
  for (const name of namesIn(signedHeaders).inOrder) {
    const value = (headers.get(name) ?? "").trim();
    lines += `${name}:${value.includes("  ") ? value.replace(/ +/g, " ") : value}\n`;
  }
  return `${method}\n${canonicalPath(rawPath)}\n${canonicalQuery(rawQuery)}\n${lines}\n${signedHeaders}\n${payload}`;
}

function canonicalPath(rawPath: string): string {
  if (/^[A-Za-z0-9/._~-]*$/.test(rawPath)) return rawPath;
  return decoded(rawPath).split("/").map(percentEncoded).join("/");
}

function canonicalQuery(rawQuery: string): string {
  if (rawQuery === "") return "";
  return pairsOf(rawQuery)
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => [percentEncoded(name), percentEncoded(value)] as const)
    .sort(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** parseQuery reads the parameters of an address. */
export function parseQuery(rawQuery: string): Query {
  const query = new Map<string, string>();
  for (const [name, value] of pairsOf(rawQuery)) if (!query.has(name)) query.set(name, value);
  return query;
}

function pairsOf(rawQuery: string): Array<readonly [name: string, value: string]> {
  return rawQuery
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=");
      const [name, value] = at === -1 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
      return [decoded(name.replaceAll("+", " ")), decoded(value.replaceAll("+", " "))] as const;
    });
}

/** decoded decodes percent signs. */
export function decoded(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new S3Error("InvalidURI", "the address contains a percent sign that does not encode UTF-8");
  }
}

/** percentEncoded writes a text as signatures demand it: all but the unreserved characters of RFC 3986. */
export function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The time that was read last: of many requests in a second, it is the same. */
let lastTime: { readonly text: string; readonly at: number } | undefined;

/** parseTime reads `20130524T000000Z`. */
function parseTime(text: string): number | undefined {
  if (lastTime?.text === text) return lastTime.at;
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  if (parts.length === 0) return undefined;
  const [year = "", month = "", day = "", hour = "", minute = "", second = ""] = parts;
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(at)) return undefined;
  lastTime = { text, at };
  return at;
}

/** basicTime writes the header `Date` as `x-amz-date` would be; empty if there is none. */
function basicTime(date: string | null): string {
  const at = date === null ? Number.NaN : Date.parse(date);
  return Number.isNaN(at) ? "" : `${new Date(at).toISOString().replace(/[-:]|\..*/g, "")}Z`;
}

/** By secret and scope. */
const signingKeys = new Map<string, Buffer>();

function signingKey(secret: string, scope: string): Buffer {
  let key: Buffer | string = `AWS4${secret}`;
  for (const part of scope.split("/")) key = hmac(key, part);
  return key as Buffer;
}

function rememberSigningKey(name: string, key: Buffer): void {
  if (signingKeys.size >= maxSigningKeys) signingKeys.clear();
  signingKeys.set(name, key);
}

/** sha256 returns the hash in hexadecimal. */
export function sha256(content: string): string {
  return Bun.CryptoHasher.hash("sha256", content, "hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return new Bun.CryptoHasher("sha256", key).update(text).digest();
}
