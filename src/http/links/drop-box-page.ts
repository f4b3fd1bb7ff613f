import { splitPath, type TreePath } from "../../buckets/path.ts";
import { linkPage } from "./page.ts";

/** DropBox is what the page of a drop box shows. */
export interface DropBox {
  readonly folder: TreePath;
  readonly hasPassword: boolean;
}

/** dropBoxPage lets people choose or drop files, which are uploaded one by one. It shows nothing of the folder but its name. */
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

/** The script of the page. A file whose name exists gets a number; everything else that fails is shown beside its name. */
const script = String.raw`
"use strict";
const maxNumber = 100;
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
    request.onerror = () => resolve({ status: 0, text: "The connection was lost." });
    request.send(file);
  });
}

async function upload(file, row) {
  const name = file.name.replace(/[\\/\0]/g, "_");
  const bar = row.appendChild(document.createElement("progress"));
  for (let number = 1; number <= maxNumber; number += 1) {
    const stored = numbered(name, number);
    const { status, text } = await send(file, stored, (part) => { bar.value = part; });
    if (status === 409) continue;
    row.textContent = status === 201 ? stored + " \u2713" : name + ": " + text;
    row.className = status === 201 ? "stored" : "problem";
    return;
  }
  row.textContent = name + ": there are too many files of this name.";
  row.className = "problem";
}

function add(files) {
  for (const file of files) {
    const row = list.appendChild(document.createElement("li"));
    row.textContent = file.name;
    queue = queue.then(() => upload(file, row));
  }
}

document.getElementById("choice").onchange = ({ target }) => {
  add([...target.files]);
  target.value = "";
};
area.ondragover = (event) => {
  event.preventDefault();
  area.className = "over";
};
area.ondragleave = () => { area.className = ""; };
area.ondrop = (event) => {
  event.preventDefault();
  area.className = "";
  add([...event.dataTransfer.files]);
};
`;
