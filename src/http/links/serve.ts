// This folder answers at the addresses of signed links, `/node/link/…`. This file declares it for the pipeline
// (../pipeline.ts). It proves the link, in this order: link-request.ts reads the address, links/ checks the code,
// page.ts asks for a password if the link has one. Then link-request.ts sends the file, drop-box.ts takes an upload, or
// http/zip.ts sends a folder as an archive. page.ts also shows people what a link offers.

import { callerName } from "../../auth/caller.ts";
import { Fault } from "../../base/fault.ts";
import type { BucketFiles } from "../../buckets/bucket-files.ts";
import { LockedFault } from "../../buckets/metadata/locks.ts";
import { parseTreePath, type TreePath, treeRoot } from "../../buckets/path.ts";
import type { Bucket } from "../../buckets/record.ts";
import { ConditionFault } from "../../buckets/write-conditions.ts";
import { archiveName } from "../../links/link-code.ts";
import type { LinkVerdict, ValidLink } from "../../links/links.ts";
import type { Lease } from "../../rpc/method.ts";
import type { Services } from "../../services.ts";
import { wantsPage } from "../content/page.ts";
import {
  allowedMethods,
  errorReason,
  methodNotAllowed,
  plainText,
  pulledResponse,
} from "../content/plain.ts";
import type { Protocol, ReceivedRequest } from "../pipeline.ts";
import { refusalOf } from "../request/authentication.ts";
import { HttpError } from "../request/http-error.ts";
import { faultResponse, isFolderInTheWay } from "../webdav/error-response.ts";
import { Archive } from "../zip.ts";
import { addFile, dropBoxPage } from "./drop-box.ts";
import {
  attachmentOf,
  countUse,
  download,
  type LinkRequest,
  parseRequestedLink,
  type RequestedLink,
} from "./link-request.ts";
import { challengeFor, landingPage, provePassword } from "./page.ts";

/** What a link leads to is for the one who has it: no cache, no search engine, and no other site sees the address. */
const linkHeaders = {
  "cache-control": "private, no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex",
};

const everyMethod = ["GET", "HEAD", "POST", "PUT"];

/** ProvenLink is a request whose link and password are right, and what it does with the link. */
interface ProvenLink extends LinkRequest {
  readonly asked: RequestedLink;
}

/**
 * signedLink answers for a signed link: `/node/link/<code>/<bucket>/<path>`. Until the link is proven, a body is counted as that
 * of a stranger.
 */
export const signedLink: Protocol<ProvenLink, RequestedLink> = {
  name: "links",
  takesBodies: true,
  pages: "link",
  options: () => withLinkHeaders(allowedMethods(everyMethod)),
  who: proveLink,
  async answer(received, linked) {
    const { asked } = linked;
    if (asked.kind === "zip") return (await sendArchive(linked, received.deps.acquire)) ?? refuse("unknown");
    if (asked.fileName === undefined) return (await download(linked)) ?? refuse("unknown");
    return addFile(received, linked, asked.fileName);
  },
  toResponse(error, { request, target }) {
    // A stranger learns nothing of the locks and their owners.
    if (error instanceof LockedFault)
      return plainText(423, "423 Locked: someone is working on this folder; try again later.");
    if (error instanceof ConditionFault || (error instanceof Fault && isFolderInTheWay(error)))
      return plainText(
        409,
        "409 a file or folder of this name exists, and a link cannot replace it; use another name.",
      );
    if (error instanceof Fault && target !== undefined)
      return faultResponse(error, target.bucket, target.path);
    return refusalOf(error, request);
  },
  finish: withLinkHeaders,
  logged: (asked) => ({ bucket: asked?.bucket, path: asked?.path }),
};

function withLinkHeaders(response: Response): Response {
  for (const [name, value] of Object.entries(linkHeaders)) response.headers.set(name, value);
  return response;
}

async function proveLink(received: ReceivedRequest<RequestedLink>): Promise<ProvenLink | Response> {
  const { request, path, authenticator, services } = received;
  const { buckets, links } = services;
  const asked = parseRequestedLink(path, request);
  received.target = asked;
  if (asked === undefined) return refuse("unknown");
  const bucket = await enabledBucket(services, asked.bucket);
  const check = () => links.check(asked.code, { ...asked, bucket }, authenticator);
  const verdict = await check();
  if (verdict.state !== "valid") return refuse(verdict.state);
  if (bucket === undefined) return refuse("unknown");
  const { link } = verdict;
  const methods = methodsOf(asked, link);
  if (!methods.includes(request.method)) return methodNotAllowed(methods);
  if (asked.kind === "upload" && request.method !== "PUT")
    return dropBoxPage(request, { folder: asked.path, link });
  const files = buckets.filesOf(bucket);
  const proof = await provePassword(received, link);
  if (proof !== "right") {
    const challenge = challengeFor(request, proof);
    return challenge ?? landingPage(request, { link, asked, proof, size: await sizeOf(asked, files) });
  }
  if (link.note !== undefined && request.method === "GET" && wantsPage(request))
    return landingPage(request, { link, asked, size: await sizeOf(asked, files) });
  received.proved();
  return {
    request,
    link,
    asked,
    path: asked.path,
    bucket,
    files,
    links,
    audit: received.auditOf(link.owner),
    grant: {
      by: callerName(link.owner),
      async assertStillValid() {
        if (!isUsable(await check()) || (await buckets.compare(bucket)) !== "same")
          throw new HttpError(410, "Gone: this link ended meanwhile; nothing was stored", {
            headers: errorReason("ended"),
          });
      },
    },
  };
}

/** Read after the use was counted, a link may be used up by this very request. */
function isUsable({ state }: LinkVerdict): boolean {
  return state === "valid" || state === "used_up";
}

async function enabledBucket({ buckets }: Services, name: string): Promise<Bucket | undefined> {
  const bucket = await buckets.get(name);
  return bucket?.enable ? bucket : undefined;
}

/** The page of a link with a password or a note has a form. */
function methodsOf({ kind }: RequestedLink, { passwordHash, note }: ValidLink): readonly string[] {
  if (kind === "upload") return ["GET", "HEAD", "PUT"];
  return passwordHash === undefined && note === undefined ? ["GET", "HEAD"] : ["GET", "HEAD", "POST"];
}

/** The size of the file of a link; undefined for an archive, and if there is no such file. */
async function sizeOf({ kind, path }: RequestedLink, { reader }: BucketFiles): Promise<number | undefined> {
  const entry = kind === "download" ? await reader.find(path) : undefined;
  return entry?.kind === "file" ? entry.stats.size : undefined;
}

/** One text for every link that was not made so, so that nothing can be learnt by trying; more for those who were given it. */
function refuse(state: Exclude<LinkVerdict["state"], "valid">): Response {
  switch (state) {
    case "unknown":
      return plainText(404, "404 Not Found: this link is not valid, or its target is gone.");
    case "expired":
      return plainText(
        410,
        "410 Gone: this link has expired; ask its sender for a new one.",
        errorReason(state),
      );
    case "revoked":
      return plainText(410, "410 Gone: this link was revoked by its owner.", errorReason(state));
    case "used_up":
      return plainText(410, "410 Gone: this link has reached its limit.", errorReason(state));
  }
}

/** Archives that are compressed at a time, each of which occupies a thread of the pool; the content of further ones is not compressed. */
const maxCompressed = 4;
let compressed = 0;

/** sendArchive sends the folder of a link, or what was selected in it, as a ZIP archive; undefined if there is no such folder. */
async function sendArchive(
  linked: LinkRequest,
  acquire: () => Lease<Pick<Services, "clock">>,
): Promise<Response | undefined> {
  const { request, link, path: folder, bucket, files, audit } = linked;
  const found = folder === treeRoot ? undefined : await files.reader.find(folder);
  if (folder !== treeRoot && found?.kind !== "folder") return undefined;
  const top = archiveName(bucket.name, folder);
  const headers = {
    "content-type": "application/zip",
    "content-disposition": attachmentOf(`${top}.zip`),
    "x-content-type-options": "nosniff",
    "accept-ranges": "none",
  };
  if (request.method === "HEAD") return new Response(null, { headers });
  await countUse(linked);
  if (link.name !== undefined)
    audit("link.used", { bucket: bucket.name, path: folder, kind: "zip", link: link.name.id });
  const paths = link.paths?.flatMap((path) => within(folder, path));
  const compresses = compressed < maxCompressed;
  if (compresses) compressed += 1;
  // Rows are read until the last file is sent, so the database stays open until then.
  const lease = acquire();
  const madeAtMs = lease.services.clock.now();
  const archive = new Archive({ reader: files.reader, folder, top, paths, compresses, madeAtMs });
  return pulledResponse(
    archive.pieces(),
    { headers },
    {
      left: request.signal,
      onEnd() {
        if (compresses) compressed -= 1;
        lease.release();
      },
    },
  );
}

function within(folder: TreePath, path: string): readonly TreePath[] {
  const whole = parseTreePath(folder === treeRoot ? path : `${folder}/${path}`);
  return whole === undefined ? [] : [whole];
}
