import { wholeNumber } from "../../base/numbers.ts";
import { textResponse } from "../content/plain.ts";
import { bodyChunks } from "../request/body.ts";
import { S3Error } from "./errors.ts";
import { document, element } from "./xml.ts";

/** What is before the file, and what is ignored behind it. */
const maxFieldBytes = 64 * 1024;
const maxIgnoredBytes = 64 * 1024;
/** Blanks between a boundary and the end of its line, which some programs send (RFC 2046). */
const maxPaddingBytes = 100;

// biome-ignore lint/suspicious/noTemplateCurlyInString: it is what forms of S3 have in the field `key`
const fileNameInKey = "${filename}";
/** Fields that a policy does not name. */
const uncovered: ReadonlySet<string> = new Set(["policy", "x-amz-signature"]);
/** Fields that have another name than the header that means the same. */
const fieldNames: Readonly<Record<string, string>> = { "x-amz-acl": "acl", "x-amz-tagging": "tagging" };

/** PostedForm is an upload by a form of HTML, as far as its file: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-post-example.html. */
export interface PostedForm {
  /** By their names in lower case; in `key`, `${filename}` is the name of the file. */
  readonly fields: ReadonlyMap<string, string>;
  /** The fields by the names of headers. */
  readonly headers: Pick<Headers, "get">;
  /** To be read once. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** isForm returns whether a request is a form with a file. */
export function isForm({ method, headers }: Request): boolean {
  return method === "POST" && /^multipart\/form-data\s*;/i.test(headers.get("content-type") ?? "");
}

/** readForm reads the fields of a form. */
export async function readForm(request: Request): Promise<PostedForm> {
  const type = request.headers.get("content-type") ?? "";
  const [, quoted, bare] = /;\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;,"]{1,70}))/i.exec(type) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw malformed("its Content-Type names no boundary");
  const parts = new PartSource(bodyChunks(request), boundary);
  const fields = new Map<string, string>();
  for (let head = await parts.next(); head !== undefined; head = await parts.next()) {
    const { name, fileName } = namesIn(head);
    if (name === "file") {
      const key = fields.get("key");
      if (key !== undefined)
        fields.set(
          "key",
          key.replaceAll(fileNameInKey, () => fileName),
        );
      const headers = {
        get: (header: string) => fields.get(header) ?? fields.get(fieldNames[header] ?? "") ?? null,
      };
      return { fields, headers, content: parts.last() };
    }
    if (fields.has(name)) throw malformed(`the field ${name.slice(0, 100)} is there twice`);
    fields.set(name, await parts.text());
  }
  throw malformed("it has no field file, which must be the last one");
}

/** The name of a field in lower case, and of its file without folders, from the lines above it. */
function namesIn(head: string): { readonly name: string; readonly fileName: string } {
  const [, disposition = ""] = /^content-disposition:[ \t]*form-data[ \t]*(;[^\r\n]*)$/im.exec(head) ?? [];
  const one = (parameter: string) => {
    const [, text] = new RegExp(`;[ \\t]*${parameter}="((?:[^"\\\\]|\\\\.)*)"`, "i").exec(disposition) ?? [];
    return text?.replace(/\\(["\\])/g, "$1").replaceAll("%22", '"');
  };
  const name = one("name");
  if (name === undefined) throw malformed("a part of it has no name");
  return { name: name.toLowerCase(), fileName: (one("filename") ?? "").replace(/^.*[\\/]/, "") };
}

/** PartSource reads the parts of a body of the type multipart/form-data (RFC 7578). */
class PartSource {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #delimiter: Buffer;
  /** A delimiter is behind the end of a line, the first one behind that of the headers. */
  #rest: Buffer = Buffer.from("\r\n");
  #left = maxFieldBytes;
  #isBegun = false;

  constructor(chunks: AsyncIterable<Uint8Array>, boundary: string) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  /** next returns the lines above the next part; undefined behind the last one. What is above must have been read. */
  async next(): Promise<string | undefined> {
    if (!this.#isBegun && (await this.text()) !== "") throw malformed("it does not begin with its boundary");
    this.#isBegun = true;
    if (this.#isAtEnd) return undefined;
    for (;;) {
      const end = this.#rest.indexOf("\r\n\r\n");
      if (end !== -1) {
        const head = this.#rest.toString("utf8", 2, end);
        this.#count(end);
        this.#rest = this.#rest.subarray(end + 4);
        return head;
      }
      if (this.#rest.length > this.#left) this.#count(this.#rest.length);
      await this.#more();
    }
  }

  /** text returns the content of a part. */
  async text(): Promise<string> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.#content()) {
      this.#count(chunk.length);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString("utf8");
  }

  /** last yields the content of a part. What is behind it, such as the button of the form, means nothing. */
  async *last(): AsyncGenerator<Uint8Array> {
    yield* this.#content();
    let ignored = 0;
    const ignore = (bytes: number) => {
      ignored += bytes;
      if (ignored > maxIgnoredBytes) throw malformed("the file must be its last field");
    };
    while (!this.#isAtEnd) for await (const chunk of this.#content()) ignore(chunk.length);
    ignore(this.#rest.length);
    for (let one = await this.#chunks.next(); !one.done; one = await this.#chunks.next())
      ignore(one.value.length);
  }

  /** Behind the last boundary of all are two hyphens. */
  get #isAtEnd(): boolean {
    return this.#rest.toString("latin1", 0, 2) === "--";
  }

  /** The content up to the next boundary. Behind it, the end of a line, or two hyphens, is the first of the rest. */
  async *#content(): AsyncGenerator<Uint8Array> {
    for (let from = 0; ; ) {
      const end = this.#rest.indexOf(this.#delimiter, from);
      if (end === -1) {
        const part = this.#rest.subarray(0, Math.max(0, this.#rest.length - this.#delimiter.length + 1));
        this.#rest = this.#rest.subarray(part.length);
        from = 0;
        if (part.length > 0) yield part;
        await this.#more();
        continue;
      }
      // What is behind it may be still to come, and must not be added to all that was read before.
      if (end > 0 && this.#rest.length < end + this.#delimiter.length + maxPaddingBytes + 2) {
        const part = this.#rest.subarray(0, end);
        this.#rest = this.#rest.subarray(end);
        from = 0;
        yield part;
        continue;
      }
      const behind = await this.#behind(end + this.#delimiter.length);
      if (behind === undefined) {
        from = end + 1;
        continue;
      }
      const part = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(behind);
      if (part.length > 0) yield part;
      return;
    }
  }

  /** Where the rest begins behind a delimiter; undefined if the line goes on, so that it is content. */
  async #behind(at: number): Promise<number | undefined> {
    for (let end = at; end <= at + maxPaddingBytes; end += 1) {
      while (this.#rest.length < end + 2) await this.#more();
      const two = this.#rest.toString("latin1", end, end + 2);
      if (two === "\r\n" || (two === "--" && end === at)) return end;
      if (!/^[ \t]/.test(two)) return undefined;
    }
    return undefined;
  }

  #count(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw malformed(`the fields before the file exceed ${maxFieldBytes} bytes`);
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done) throw new S3Error("IncompleteBody", "the form ends too early; nothing was changed");
    this.#rest = Buffer.concat([this.#rest, value]);
  }
}

/** Sizes that a policy allows for a file. */
interface AllowedSize {
  readonly minBytes: number;
  readonly maxBytes: number;
}

/**
 * assertPolicy throws unless the policy of a form is in force and allows each of its fields. Beyond what AWS asks for, a policy must name
 * the bucket and the key: one without would be good for every file of the token.
 */
export function assertPolicy({ fields }: PostedForm, bucket: string, nowMs: number): AllowedSize {
  const { expiration, conditions } = parsePolicy(fields.get("policy") ?? "");
  if (nowMs >= expiration) throw refused("it has expired");
  const named = new Set<string>();
  let [minBytes, maxBytes] = [0, Number.POSITIVE_INFINITY];
  for (const [operator, name, value] of conditions) {
    if (operator === "content-length-range") {
      const [min, max] = [wholeNumber(name), wholeNumber(value)];
      if (min === undefined || max === undefined)
        throw invalidPolicy("the sizes of content-length-range are not numbers");
      [minBytes, maxBytes] = [Math.max(minBytes, min), Math.min(maxBytes, max)];
      continue;
    }
    if (!name.startsWith("$")) throw invalidPolicy("a condition names its field without $");
    const field = name.slice(1).toLowerCase();
    named.add(field);
    const given = field === "bucket" ? bucket : (fields.get(field) ?? "");
    if (!isMet(operator, field === "content-type" ? given.split(",") : [given], value))
      throw refused(`the field ${field.slice(0, 100)} is not what it asks for`);
  }
  for (const field of ["bucket", "key"])
    if (!named.has(field)) throw refused(`it has no condition for ${field}`);
  for (const field of fields.keys())
    if (!named.has(field) && !uncovered.has(field) && !field.startsWith("x-ignore-"))
      throw refused(`it has no condition for the field ${field.slice(0, 100)}`);
  if ((fields.get("bucket") ?? bucket) !== bucket) throw refused("the form is for another bucket");
  return { minBytes, maxBytes };
}

/** Of several types in one field each must begin as it should. */
function isMet(operator: string, given: readonly string[], value: string): boolean {
  if (operator === "eq") return given.join(",") === value;
  if (operator === "starts-with")
    return given.every((text, at) => (at === 0 ? text : text.trimStart()).startsWith(value));
  throw invalidPolicy("a condition is none of eq, starts-with and content-length-range");
}

interface Policy {
  /** In Unix milliseconds. */
  readonly expiration: number;
  readonly conditions: ReadonlyArray<readonly [operator: string, name: string, value: string]>;
}

function parsePolicy(base64: string): Policy {
  let policy: unknown;
  try {
    policy = JSON.parse(Buffer.from(base64, "base64").toString("utf8"));
  } catch {
    throw invalidPolicy("it is not JSON in base64");
  }
  const { expiration, conditions } = (policy ?? {}) as Record<string, unknown>;
  const ends =
    typeof expiration === "string" && /^\d{4}-\d\d-\d\dT.+Z$/.test(expiration)
      ? Date.parse(expiration)
      : Number.NaN;
  if (Number.isNaN(ends)) throw invalidPolicy("its expiration is not a time such as 2030-01-01T00:00:00Z");
  if (!Array.isArray(conditions)) throw invalidPolicy("it has no list of conditions");
  return { expiration: ends, conditions: conditions.flatMap(parseCondition) };
}

/** `{"bucket": "a"}` is short for `["eq", "$bucket", "a"]`. */
function parseCondition(condition: unknown): Policy["conditions"] {
  if (Array.isArray(condition) && condition.length === 3) {
    const [operator, name, value] = condition.map((one) => (typeof one === "number" ? String(one) : one));
    if (typeof operator === "string" && typeof name === "string" && typeof value === "string")
      return [[operator.toLowerCase(), name, value]];
  } else if (typeof condition === "object" && condition !== null && !Array.isArray(condition)) {
    const pairs = Object.entries(condition);
    if (pairs.length > 0 && pairs.every(([, value]) => typeof value === "string"))
      return pairs.map(([name, value]) => ["eq", `$${name}`, value as string] as const);
  }
  throw invalidPolicy("a condition has another form than a list of three, or an object");
}

interface StoredFile {
  readonly bucket: string;
  readonly key: string;
  readonly etag: string;
  /** The address of the object. */
  readonly location: string;
}

/** postedAnswer answers a form as its fields ask for. */
export function postedAnswer({ fields }: PostedForm, { bucket, key, etag, location }: StoredFile): Response {
  const redirect = URL.parse(fields.get("success_action_redirect") ?? fields.get("redirect") ?? "");
  if (redirect !== null && /^https?:$/.test(redirect.protocol)) {
    for (const [name, value] of Object.entries({ bucket, key, etag }))
      redirect.searchParams.append(name, value);
    return new Response(null, { status: 303, headers: { location: redirect.href, etag } });
  }
  const headers = { etag, location };
  switch (fields.get("success_action_status")) {
    case "200":
      return new Response(null, { headers });
    case "201": {
      const content = { Location: location, Bucket: bucket, Key: key, ETag: etag };
      const elements = Object.entries(content).map(([name, text]) => element(name, text));
      return textResponse(document("PostResponse", elements.join(""), ""), {
        status: 201,
        headers: { ...headers, "content-type": "application/xml" },
      });
    }
  }
  return new Response(null, { status: 204, headers });
}

function malformed(why: string): S3Error {
  return new S3Error("MalformedPOSTRequest", `the form cannot be read: ${why}`);
}

function invalidPolicy(why: string): S3Error {
  return new S3Error("InvalidPolicyDocument", `the policy of the form cannot be read: ${why}`);
}

function refused(why: string): S3Error {
  return new S3Error("AccessDenied", `the policy of the form does not allow this: ${why}`);
}
