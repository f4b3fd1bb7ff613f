import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Fault } from "./fault.ts";

/** FilesLocation is where the content of files is kept: in a folder, or in a bucket of an S3-compatible store. */
export type FilesLocation =
  | { readonly folder: string }
  | {
      readonly s3: {
        readonly bucket: string /** Without slashes at its ends; may be empty. */;
        readonly prefix: string;
      };
    };

const forms = '"file:///absolute/folder" or "s3://bucket/prefix"';

/**
 * `parseFilesUrl` reads `file:///absolute/folder` or `s3://bucket/prefix`. Throws InvalidInput, without the text, which may
 * contain a secret.
 */
export function parseFilesUrl(url: string): FilesLocation {
  if (url.startsWith("file:")) return { folder: folderIn(url) };
  const [, location] = /^s3:\/\/(.*)$/s.exec(url) ?? [];
  if (location === undefined)
    throw refusal(`must be ${forms}; without one, files are plain files below static_path`);
  if (/[@?#]/.test(location))
    throw refusal(
      "must not contain keys or options; write access_key_id, secret_access_key and endpoint below [files]",
    );
  const [bucket = "", ...segments] = location.replace(/\/+$/, "").split("/");
  if (!/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/.test(bucket))
    throw refusal('must name a bucket after s3://, such as "s3://my-bucket/node-server"');
  if (!segments.every((segment) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(segment)))
    throw refusal(
      "must have a prefix of letters, digits, dots, hyphens and underscores, its folders separated by single slashes",
    );
  return { s3: { bucket, prefix: segments.join("/") } };
}

/** `withFilesFolder` returns the `file:` URL of a folder. */
export function withFilesFolder(folder: string): string {
  return pathToFileURL(folder).href;
}

function folderIn(url: string): string {
  if (!/^file:\/\/\/[^/]/.test(url))
    throw refusal('must name an absolute folder with three slashes, such as "file:///srv/node-server/blobs"');
  const path = url.slice("file://".length);
  try {
    if (!/[?#]|%00/.test(path)) return resolve(decodeURIComponent(path));
  } catch {
    // Explained below.
  }
  throw refusal("has a character that must be encoded in a URL: write % as %25, ? as %3F and # as %23");
}

function refusal(why: string): Fault {
  return new Fault("InvalidInput", why, { field: "files.url" });
}
