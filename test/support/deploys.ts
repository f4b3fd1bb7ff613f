import { createHash } from "node:crypto";
import type { TestNode } from "./node.ts";
import { storedFiles } from "./stored-site.ts";

/** DeployRecord is what `static-bucket_deploy_list` returns of a deploy. */
export interface DeployRecord {
  readonly deploy: string;
  readonly state: string;
  readonly made_at: number;
  readonly by: string;
  readonly note: string;
  readonly files: number | null;
  readonly bytes: number | null;
  readonly published_at: number | null;
  readonly changed: boolean;
}

interface PublishedDeploy {
  readonly deploy: string;
  readonly replaced: string | null;
  readonly problems: readonly unknown[];
}

type Files = Readonly<Record<string, string>>;

/** wantedFiles is how a deploy is told which files it is to have. */
export function wantedFiles(files: Files) {
  return Object.entries(files).map(([path, content]) => ({
    path,
    size: Buffer.byteLength(content),
    sha256: createHash("sha256").update(content).digest("hex"),
  }));
}

/** deploySite makes the story's bucket, and has what it takes to deploy to it as a client does. */
export async function deploySite(node: TestNode, { token = node.superToken, name = node.bucket } = {}) {
  await node.call("static-bucket_create", [node.superToken, name]);
  return deployClient(node, { token, name });
}

export function deployClient(node: TestNode, { token = node.superToken, name = node.bucket } = {}) {
  const call = async <T>(method: string, params: object = {}): Promise<T> =>
    (await node.call(`static-bucket_deploy_${method}`, { token, name, ...params })) as T;
  const put = async (deploy: string, path: string, content: string) => {
    const url = `${node.url}/node/static-webdav/${name}@${deploy}/${path.split("/").map(encodeURIComponent).join("/")}`;
    const authorization = `Basic ${Buffer.from(token).toString("base64")}`;
    return fetch(url, { method: "PUT", headers: { authorization }, body: content });
  };
  const begin = async (params: object = {}) => (await call<DeployRecord>("begin", params)).deploy;
  const add = (deploy: string, files: Files) =>
    call<{ taken: number; missing: string[] }>("add", { deploy, files: wantedFiles(files) });
  /** Fills a new deploy, and returns its id and what had to be uploaded. */
  const prepare = async (files: Files, params: object = {}) => {
    const deploy = await begin(params);
    const { missing } = await add(deploy, files);
    for (const path of missing) {
      const { status } = await put(deploy, path, files[path] ?? "");
      if (status !== 201) throw new Error(`PUT ${path} was answered ${status}`);
    }
    return { deploy, missing };
  };
  const publish = (deploy: string) => call<PublishedDeploy>("publish", { deploy });
  return {
    ...storedFiles(node, name),
    begin,
    add,
    put,
    prepare,
    publish,
    /** Prepares a deploy and publishes it. */
    async deploy(files: Files, params: object = {}) {
      const { deploy } = await prepare(files, params);
      await publish(deploy);
      return deploy;
    },
    check: (deploy: string) =>
      call<{
        readonly files: ReadonlyArray<{
          readonly path: string;
          readonly change: string;
          readonly bytes: number;
        }>;
        readonly problems: readonly unknown[];
      }>("check", { deploy }),
    preview: (deploy: string) => call<{ address: string }>("preview", { deploy }),
    rollback: (deploy?: string) => call<PublishedDeploy>("rollback", { deploy }),
    list: () => call<DeployRecord[]>("list"),
    remove: (deploy: string) => call("delete", { deploy }),
    refused: (method: string, params: object = {}) =>
      node.refused(`static-bucket_deploy_${method}`, { token, name, ...params }),
    /** What plain HTTP answers for a path. */
    async page(path: string) {
      const response = await fetch(`${node.url}/node/static/${name}/${path}`, {
        headers: { "cache-control": "no-cache" },
      });
      return response.ok ? response.text() : response.status;
    },
  };
}
