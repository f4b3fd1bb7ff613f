import { childPath, type Segment, splitPath, type TreePath, treeRoot } from "../../buckets/path.ts";
import type { WriteConditions } from "../../buckets/write-conditions.ts";
import { suffixes } from "../content/compression.ts";
import { mediaTypeOf } from "../content/media-type.ts";
import { plainText } from "../content/plain.ts";
import type { ReceivedRequest } from "../pipeline.ts";
import { uploadBody } from "../request/body.ts";
import { HttpError } from "../request/http-error.ts";
import { countUse, type LinkRequest } from "./link-request.ts";
import { linkPage } from "./page.ts";

/** These change how a bucket is served. */
const reservedAtTop = new Set(["_headers", "_redirects"]);

/** addFile stores the body of a request as a new file of a drop box. It never replaces one. */
export async function addFile(
  received: ReceivedRequest<unknown>,
  { link, links, files, path: folder, bucket, audit, grant }: LinkRequest,
  name: Segment,
): Promise<Response> {
  if (folder === treeRoot && reservedAtTop.has(name.toLowerCase()))
    throw new HttpError(
      403,
      "a file of this name changes how the bucket is served; it cannot be uploaded by a link",
    );
  if (isCompressedCopy(name))
    throw new HttpError(
      403,
      "a file of this name could be served instead of the one without the extension; use another name, such as files.zip or files.tgz",
    );
  const path = childPath(folder, name);
  const conditions: WriteConditions = { grant, noneMatch: "*" };
  await countUse({ links, link });
  try {
    const { stats } = await uploadBody(received, { files, path, conditions, makeParents: true });
    audit("file.written", { bucket: bucket.name, path, bytes: stats.size });
  } catch (error) {
    await links.uncount(link);
    throw error;
  }
  const stored = link.name === undefined ? {} : { link: link.name.id };
  audit("link.used", { bucket: bucket.name, path, kind: "upload", ...stored });
  return plainText(201, `201 Created: ${name} is stored.`);
}

/**
 * isCompressedCopy returns whether a file is sent in place of another one as soon as that exists, as `x.html.br` is for `x.html`. The
 * other one may come later, with an older time.
 */
function isCompressedCopy(name: string): boolean {
  const lower = name.toLowerCase();
  const suffix = Object.values(suffixes).find((one) => lower.endsWith(one));
  return suffix !== undefined && mediaTypeOf(lower.slice(0, -suffix.length)).compressible;
}

/** DropBox is what the page of a drop box shows. */
interface DropBox {
  readonly folder: TreePath;
  readonly hasPassword: boolean;
}

/**
 * dropBoxPage lets people choose files or drop them anywhere on the page; they are uploaded one by one. It shows nothing of the folder
 * but its name.
 */
export function dropBoxPage(request: Request, { folder, hasPassword }: DropBox): Response {
  const { name } = splitPath(folder);
  const password = hasPassword
    ? '<p><label>Password <input type="password" id="password" autocomplete="off"></label></p>\n'
    : "";
  return linkPage(request, {
    title: name === "" ? "Upload files" : `Upload files to ${name}`,
    body: `${password}<div id="area"><p>Drop files here, or choose them:</p>
<input type="file" id="choice" multiple aria-label="Files"></div>
<ul id="files" aria-live="polite"></ul>
<noscript><p>Uploading here needs JavaScript. With curl: <code>curl -T FILE ADDRESS</code></p></noscript>`,
    script,
  });
}

/**
 * The script of the page. A file whose name exists gets a number; everything else that fails is shown beside its name, and can be tried
 * again. A folder is refused: a link adds files to one folder.
 */
const script = String.raw`
"use strict";
const maxNumber = 100;
// Stands for the name of a folder; no file has it.
const folderRow = "/";
const base = location.pathname.endsWith("/") ? location.pathname : location.pathname + "/";
const list = document.getElementById("files");
const area = document.getElementById("area");
const password = document.getElementById("password");
let queue = Promise.resolve();

function numbered(name, number) {
  if (number === 1) return name;
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) + " (" + number + ")" + name.slice(dot) : name + " (" + number + ")";
}

function basic(text) {
  return "Basic " + btoa(String.fromCharCode(...new TextEncoder().encode(":" + text)));
}

function send(file, name, onProgress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("PUT", base + encodeURIComponent(name));
    if (password !== null && password.value !== "") request.setRequestHeader("authorization", basic(password.value));
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
    request.onload = () => resolve({ status: request.status, text: request.responseText.trim() });
    request.onerror = async () => {
      const isReadable = await file.slice(0, 1).arrayBuffer().then(() => true, () => false);
      resolve({ status: 0, text: isReadable ? "The connection was lost." : "This file cannot be read any more." });
    };
    request.send(file);
  });
}

function showProblem(row, text, again) {
  row.textContent = text;
  row.className = "problem";
  if (again === undefined) return;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Try again";
  button.onclick = again;
  row.append(" ", button);
}

async function upload(file, row) {
  const name = file.name.replace(/[\\/\0]/g, "_");
  const bar = row.appendChild(document.createElement("progress"));
  for (let number = 1; number <= maxNumber; number += 1) {
    const stored = numbered(name, number);
    const { status, text } = await send(file, stored, (part) => { bar.value = part; });
    if (status === 409) continue;
    if (status !== 201) return showProblem(row, name + ": " + text, () => enqueue(file, row));
    row.textContent = stored + " \u2713";
    row.className = "stored";
    return;
  }
  showProblem(row, name + ": there are too many files of this name.");
}

function enqueue(file, row) {
  row.textContent = file.name;
  row.className = "";
  queue = queue.then(() => upload(file, row));
}

function newRow(name) {
  const row = list.appendChild(document.createElement("li"));
  row.dataset.name = name;
  return row;
}

// What was wrong with a file goes when the file comes again, and a folder that was refused when anything comes.
function add(files, folders) {
  const again = new Set([...files.map(({ name }) => name), folderRow]);
  for (const row of list.querySelectorAll(".problem")) if (again.has(row.dataset.name)) row.remove();
  for (const name of folders)
    showProblem(newRow(folderRow), name + ": this is a folder. Drop the files that are in it, or a ZIP archive of it.");
  for (const file of files) enqueue(file, newRow(file.name));
}

document.getElementById("choice").onchange = ({ target }) => {
  add([...target.files], []);
  target.value = "";
};
const hasFiles = ({ dataTransfer }) => dataTransfer !== null && dataTransfer.types.includes("Files");
// The browser would leave the page and open a file that falls beside the area.
addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  area.className = "over";
}, { capture: true });
addEventListener("dragleave", ({ relatedTarget }) => {
  if (relatedTarget === null) area.className = "";
});
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  area.className = "";
  const files = [];
  const folders = [];
  for (const item of event.dataTransfer.items) {
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry !== null && entry.isDirectory) folders.push(entry.name);
    else if (file !== null) files.push(file);
  }
  add(files, folders);
}, { capture: true });
`;
