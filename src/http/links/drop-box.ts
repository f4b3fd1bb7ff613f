import {
  childPath,
  folderPath,
  type Segment,
  splitPath,
  type TreePath,
  treePath,
  treeRoot,
} from "../../buckets/path.ts";
import type { WriteConditions } from "../../buckets/write-conditions.ts";
import type { ValidLink } from "../../links/links.ts";
import { suffixes } from "../content/compression.ts";
import { mediaTypeOf } from "../content/media-type.ts";
import { type Language, languageOf, serverPage } from "../content/page.ts";
import { plainText } from "../content/plain.ts";
import type { ReceivedRequest } from "../pipeline.ts";
import { uploadBody } from "../request/body.ts";
import { HttpError } from "../request/http-error.ts";
import { countUse, type LinkRequest } from "./link-request.ts";
import { linkFacts } from "./page.ts";

/** These change how a bucket is served, or prove to others whose it is. */
const reservedAtTop = new Set(["_headers", "_redirects", ".well-known"]);
/** The deepest folder below a drop box that an upload can name. */
const maxFoldersBelow = 32;

/**
 * addFile stores the body of a request as a new file of a drop box. It never replaces one. `?in=album/2026` names folders below the
 * drop box, which are made when needed.
 */
export async function addFile(
  received: ReceivedRequest<unknown>,
  { link, links, files, path: top, bucket, audit, grant }: LinkRequest,
  name: Segment,
): Promise<Response> {
  const folder = folderBelow(top, received.request);
  const path = childPath(folder, name);
  if (top === treeRoot && reservedAtTop.has((path.split("/")[0] ?? "").toLowerCase()))
    throw new HttpError(
      403,
      "a file of this name changes how the bucket is served; it cannot be uploaded by a link",
    );
  if (isCompressedCopy(name))
    throw new HttpError(
      403,
      "a file of this name could be served instead of the one without the extension; use another name, such as files.zip or files.tgz",
    );
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

/** The folder that a request names below the drop box. */
function folderBelow(top: TreePath, { url }: Request): TreePath {
  const { searchParams } = new URL(url, "http://localhost");
  const below = folderPath(searchParams.get("in") ?? "");
  if (below === treeRoot) return top;
  if (below.split("/").length > maxFoldersBelow)
    throw new HttpError(400, `an upload can name at most ${maxFoldersBelow} folders below a drop box`);
  return top === treeRoot ? below : treePath(`${top}/${below}`);
}

/** DropBox is what the page of a drop box shows. */
interface DropBox {
  readonly folder: TreePath;
  readonly link: ValidLink;
}

/** What the script of the page says. `{name}` is a file, `{done}` and `{all}` are counts. */
interface ScriptTexts {
  readonly lost: string;
  readonly unreadable: string;
  readonly taken: string;
  readonly maybe: string;
  readonly again: string;
  readonly waiting: string;
  readonly sum: string;
}

interface DropBoxTexts {
  readonly title: (folder: string) => string;
  readonly password: string;
  readonly drop: string;
  readonly files: string;
  readonly folder: string;
  readonly photo: string;
  readonly needsScript: string;
  readonly script: ScriptTexts;
}

const texts: Readonly<Record<Language, DropBoxTexts>> = {
  en: {
    title: (folder) => (folder === "" ? "Upload files" : `Upload files to ${folder}`),
    password: "Password",
    drop: "Drop files and folders anywhere on this page, or choose them:",
    files: "Choose files",
    folder: "Choose a folder",
    photo: "Take a photo",
    needsScript: "Uploading here needs JavaScript. With curl:",
    script: {
      lost: "The connection was lost.",
      unreadable: "This file cannot be read any more.",
      taken: "There are too many files of this name.",
      maybe:
        "A file of this name is there; it may be this one, because the connection was lost as it had been sent.",
      again: "Try again",
      waiting: "It is sent again soon.",
      sum: "{done} of {all} files are uploaded.",
    },
  },
  zh: {
    title: (folder) => (folder === "" ? "上传文件" : `上传文件到 ${folder}`),
    password: "密码",
    drop: "把文件和文件夹拖放到此页面的任意位置，或选择它们：",
    files: "选择文件",
    folder: "选择文件夹",
    photo: "拍照",
    needsScript: "在此上传需要 JavaScript。也可以使用 curl：",
    script: {
      lost: "连接已断开。",
      unreadable: "无法再读取这个文件。",
      taken: "同名文件太多。",
      maybe: "已有同名文件；它可能就是这个文件，因为发送完毕时连接断开了。",
      again: "重试",
      waiting: "稍后会自动重新发送。",
      sum: "已上传 {done} 个文件，共 {all} 个。",
    },
  },
};

const style = `
#area { margin-top: 1rem; padding: 1.4rem 1rem; border: 2px dashed var(--muted); border-radius: 10px; text-align: center }
#area.over { border-color: var(--accent); background: var(--ground) }
.button { position: relative; flex: 0 0 auto; font-size: 1rem }
.button input { position: absolute; inset: 0; opacity: 0; cursor: pointer }
#photo { display: none }
@media (pointer: coarse) { #photo { display: inline-grid } }
#files { list-style: none; margin: 0; padding: 0; max-height: 50vh; overflow: auto }
#files li { overflow-wrap: anywhere; padding: .2rem 0 }
progress { display: block; width: 100% }
`;

/**
 * dropBoxPage lets people choose files and folders or drop them anywhere on the page; the files are uploaded one by one. It shows
 * nothing of the folder but its name.
 */
export function dropBoxPage(request: Request, { folder, link }: DropBox): Response {
  const text = texts[languageOf(request)];
  const password =
    link.passwordHash === undefined
      ? ""
      : `<p><label>${text.password} <input type="password" id="password" autocomplete="off"></label></p>\n`;
  const button = (id: string, label: string, attributes: string) =>
    `<label class="button${id === "file" ? " main" : ""}" id="${id}">${label}<input type="file" ${attributes}></label>\n`;
  const escaped = JSON.stringify(text.script).replaceAll("<", "\\u003c");
  return serverPage(request, {
    title: text.title(splitPath(folder).name),
    body: `${linkFacts(request, link, undefined)}${password}<div id="area"><p>${text.drop}</p>
<div class="choices">
${button("file", text.files, "multiple")}${button("folder", text.folder, "webkitdirectory")}${button("photo", text.photo, 'accept="image/*,video/*" capture="environment"')}</div></div>
<p id="sum" role="status"></p>
<ul id="files"></ul>
<noscript><p>${text.needsScript} <code>curl -T FILE ADDRESS</code></p></noscript>
`,
    style,
    script: `const text = ${escaped};${script}`,
  });
}

/**
 * The script of the page. A file whose name exists gets a number. What fails because of the connection or a busy server is sent again
 * by itself; everything else that fails is shown beside its name, and can be tried again.
 */
const script = String.raw`
"use strict";
const maxNumber = 100;
const pausesMs = [1000, 2000, 4000, 8000, 15000, 30000];
const base = location.pathname.endsWith("/") ? location.pathname : location.pathname + "/";
const list = document.getElementById("files");
const area = document.getElementById("area");
const sum = document.getElementById("sum");
const password = document.getElementById("password");
let queue = Promise.resolve();
let all = 0;
let done = 0;
let waiting = 0;

function numbered(name, number) {
  if (number === 1) return name;
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) + " (" + number + ")" + name.slice(dot) : name + " (" + number + ")";
}

function basic(secret) {
  return "Basic " + btoa(String.fromCharCode(...new TextEncoder().encode(":" + secret)));
}

function send(file, address, onProgress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("PUT", address);
    if (password !== null && password.value !== "") request.setRequestHeader("authorization", basic(password.value));
    let isSent = false;
    request.upload.onload = () => { isSent = true; };
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
    request.onload = () => {
      const { status, responseText } = request;
      resolve({ status, said: responseText.trim(), passes: [429, 502, 503, 504].includes(status), isUnsure: [502, 504].includes(status) });
    };
    request.onerror = async () => {
      const isReadable = await file.slice(0, 1).arrayBuffer().then(() => true, () => false);
      resolve({ status: 0, said: isReadable ? text.lost : text.unreadable, passes: isReadable, isUnsure: isSent });
    };
    request.send(file);
  });
}

// Shows what was wrong, with a button; resolves when the button is pressed.
function showProblem(row, said) {
  row.textContent = said;
  row.className = "problem";
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text.again;
  row.append(" ", button);
  return new Promise((resolve) => { button.onclick = resolve; });
}

// Waits until it is time, the browser is online again, or the person does not want to wait.
function pause(ms, pressed) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const now = () => { clearTimeout(timer); resolve(); };
    addEventListener("online", now, { once: true });
    pressed.then(now);
  });
}

function showSum() {
  sum.textContent = all === 0 ? "" : text.sum.replace("{done}", done).replace("{all}", all);
}

async function upload(item, row) {
  const { file, folder } = item;
  const name = file.name.replace(/[\\/\0]/g, "_");
  const shown = (one) => (folder === "" ? "" : folder + "/") + one;
  let pauses = 0;
  let isUnsure = false;
  for (let number = 1; number <= maxNumber; ) {
    row.textContent = shown(name);
    row.className = "";
    const bar = row.appendChild(document.createElement("progress"));
    const stored = numbered(name, number);
    const query = folder === "" ? "" : "?in=" + encodeURIComponent(folder);
    const { status, said, passes, isUnsure: isLost } = await send(file, base + encodeURIComponent(stored) + query, (part) => { bar.value = part; });
    if (status === 409 && isUnsure) {
      showProblem(row, shown(stored) + ": " + text.maybe).then(() => enqueue(item, row));
      return;
    }
    if (status === 409) { number += 1; continue; }
    isUnsure = isLost;
    if (status === 201) {
      row.textContent = shown(stored) + " \u2713";
      row.className = "stored";
      done += 1;
      return showSum();
    }
    const isLast = !passes || pauses === pausesMs.length;
    const pressed = showProblem(row, shown(name) + ": " + said + (isLast ? "" : " " + text.waiting));
    if (isLast) { pressed.then(() => enqueue(item, row)); return; }
    await pause(pausesMs[pauses], pressed);
    // The same file was added again meanwhile.
    if (!row.isConnected) return;
    pauses += 1;
  }
  showProblem(row, shown(name) + ": " + text.taken).then(() => enqueue(item, row));
}

function enqueue(item, row) {
  row.textContent = item.file.name;
  row.className = "";
  waiting += 1;
  queue = queue.then(() => upload(item, row)).finally(() => { waiting -= 1; });
}

// What was wrong with a file goes when the file comes again.
function add(items) {
  const keyOf = ({ file, folder }) => folder + "/" + file.name;
  const again = new Set(items.map(keyOf));
  for (const row of list.querySelectorAll(".problem"))
    if (again.has(row.dataset.key)) { row.remove(); all -= 1; }
  for (const item of items) {
    const row = list.appendChild(document.createElement("li"));
    row.dataset.key = keyOf(item);
    all += 1;
    enqueue(item, row);
  }
  showSum();
}

// Files in the folder that was chosen name the folders above them.
function itemOf(file) {
  const above = (file.webkitRelativePath ?? "").split("/").slice(0, -1).join("/").replace(/[\\\0]/g, "_");
  return { file, folder: above };
}

for (const input of document.querySelectorAll("input[type=file]"))
  input.onchange = () => {
    add([...input.files].map(itemOf));
    input.value = "";
  };

function entriesIn(folder) {
  const reader = folder.createReader();
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject)).then(async function next(entries) {
    if (entries.length === 0) return [];
    const more = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)).then(next);
    return [...entries, ...more];
  });
}

async function itemsIn(entry, folder) {
  if (entry.isFile) return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), folder }];
  const name = entry.name.replace(/[\\\0]/g, "_");
  const below = folder === "" ? name : folder + "/" + name;
  const items = [];
  for (const one of await entriesIn(entry)) items.push(...(await itemsIn(one, below)));
  return items;
}

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
addEventListener("drop", async (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  area.className = "";
  // What was dropped can be asked for only until the event ends.
  const entries = [];
  for (const item of event.dataTransfer.items) {
    const entry = item.webkitGetAsEntry();
    if (entry !== null) entries.push(entry);
  }
  for (const entry of entries) {
    try {
      add(await itemsIn(entry, ""));
    } catch {
      const row = list.appendChild(document.createElement("li"));
      row.textContent = entry.name + ": " + text.unreadable;
      row.className = "problem";
    }
  }
}, { capture: true });
addEventListener("beforeunload", (event) => {
  if (waiting > 0) event.preventDefault();
});
`;
