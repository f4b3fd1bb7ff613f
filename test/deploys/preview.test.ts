import { describe, expect } from "bun:test";
import { deploySite } from "../support/deploys.ts";
import { eachStore, type TestNode, testNode } from "../support/node.ts";
import { test } from "../support/test.ts";

type Preview = { readonly address: string; readonly expires: number };

async function previewOf(node: TestNode, deploy: string, more: object = {}): Promise<string> {
  const params = { token: node.superToken, name: "site", deploy, ...more };
  return ((await node.call("static-bucket_deploy_preview", params)) as Preview).address;
}

describe("a preview", () => {
  eachStore("shows a deploy to holders of its link, and nothing else", async (store) => {
    await using node = await testNode(store);
    const site = await deploySite(node);
    await site.write({ "index.html": "published", "secret.txt": "not in the deploy" });
    const { deploy } = await site.prepare({
      "index.html": "prepared",
      "docs/index.html": "docs",
      _redirects: "/old /docs/ 301\nbroken\n",
    });
    const address = await previewOf(node, deploy);
    const get = (path: string) => fetch(node.url + path, { redirect: "manual" });

    const page = await get(address);
    expect([page.status, await page.text()]).toEqual([200, "prepared"]);
    expect(page.headers.get("cache-control")).toBe("private, no-store");
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect((await get(`${address}secret.txt`)).status).toBe(404);
    expect((await get(`${address}docs`)).headers.get("location")).toBe(`${address}docs/`);
    expect((await get(`${address}old`)).headers.get("location")).toBe(`${address}docs/`);
    expect(await site.page("index.html")).toBe("published");

    // Another deploy, another bucket, an altered code.
    const other = await site.begin();
    await node.call("static-bucket_create", [node.superToken, "other"]);
    for (const wrong of [
      address.replace(deploy, other),
      address.replace("site@", "other@"),
      address.replace(/preview\/(.)/, (_, letter: string) => `preview/${letter === "A" ? "B" : "A"}`),
      address.replace(`@${deploy}`, ""),
      "/node/preview/x",
    ])
      expect((await get(wrong)).status).toBe(404);

    // A sealed deploy takes no more files; its publication reports what is wrong with its rules.
    expect((await site.put(deploy, "late.txt", "late")).status).toBe(409);
    const done = await site.publish(deploy);
    expect(done.problems).toMatchObject([{ file: "_redirects", line: 2, level: "error" }]);
    const published = await get(`${address}docs/?q=1`);
    expect([published.status, published.headers.get("location")]).toEqual([
      303,
      "/node/static/site/docs/?q=1",
    ]);
    await site.rollback();
    const ended = await get(address);
    expect([ended.status, ended.headers.get("x-error-reason")]).toEqual([410, "ended"]);
    await site.remove(deploy);
    expect((await get(address)).status).toBe(404);
  });

  eachStore(
    "of a private bucket ends with the publication, and shows nothing put there later",
    async (store) => {
      await using node = await testNode(store);
      const site = await deploySite(node);
      await node.call("static-bucket_update", { token: node.superToken, name: "site", public: false });
      const address = async (deploy: string) => (await site.preview(deploy)).address;
      const answer = async (preview: string, path: string) => {
        const { status } = await fetch(`${node.url}${preview}${path}`, { redirect: "manual" });
        return status;
      };
      const first = (await site.prepare({ "index.html": "first" })).deploy;
      const link = await address(first);
      expect(await answer(link, "index.html")).toBe(200);
      await site.publish(first);
      await site.write({ "salaries.txt": "for the owner alone" });
      const ended = async () => {
        for (const path of ["index.html", "salaries.txt"])
          expect([path, await answer(link, path)]).toEqual([path, 410]);
      };
      await ended();
      expect((await site.refused("preview", { deploy: first })).data).toMatchObject({ field: "deploy" });
      const second = await site.deploy({ "index.html": "second" });
      await ended();

      // A link to a former deploy, whose later files its maker can see, ends when the bucket goes back to it.
      const former = await address(first);
      expect(await answer(former, "salaries.txt")).toBe(200);
      await site.rollback(first);
      await site.write({ "offer.txt": "later still" });
      expect(await answer(former, "offer.txt")).toBe(410);
      await site.publish(second);
      expect(await answer(former, "offer.txt")).toBe(410);
      await ended();
    },
  );

  eachStore("needs the right to read, and to deploy if the deploy is open", async (store) => {
    await using node = await testNode(store);
    const site = await deploySite(node);
    const { deploy } = await site.prepare({ "index.html": "prepared" });
    const reader = await node.newToken([
      { scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] },
    ]);
    const params = { token: reader, name: "site", deploy };
    expect((await node.refused("static-bucket_deploy_preview", params)).code).toBe(102);
    await previewOf(node, deploy);
    const { address } = (await node.call("static-bucket_deploy_preview", params)) as Preview;
    expect((await fetch(node.url + address)).status).toBe(200);
    await node.call("token_delete", [node.superToken, reader.split(":")[0]]);
    expect((await fetch(node.url + address)).status).toBe(404);
  });
});

eachStore("all deploys of a preview name have one address, which shows the newest", async (store) => {
  await using node = await testNode(store);
  const site = await deploySite(node);
  await site.deploy({ "index.html": "published" });
  const preview = "feature-x";
  const show = async (text: string, own: string | null = preview) => {
    const { deploy } = await site.prepare({ "index.html": text }, { preview: own });
    return { deploy, ...(await site.preview(deploy)) };
  };
  const ask = async (address: string) => {
    const answer = await fetch(node.url + address, { redirect: "manual" });
    return answer.status === 200 ? answer.text() : answer.status;
  };
  const first = await show("one");
  expect(first.address).toEndWith(`/${node.bucket}@~feature-x/`);
  expect(await ask(first.address)).toBe("one");
  const other = await show("other", "feature-xy");
  const plain = await show("plain", null);
  const second = await show("two");
  expect(second.address).toBe(first.address);
  expect(await ask(first.address)).toBe("two");
  // The earlier deploy of the name is gone, and nothing else is.
  const waiting = (await site.list()).filter(({ state }) => state === "ready");
  expect(waiting.map(({ deploy }) => deploy).sort()).toEqual(
    [other.deploy, plain.deploy, second.deploy].sort(),
  );
  expect([await ask(other.address), await ask(plain.address)]).toEqual(["other", "plain"]);
  // The code of one name opens no other one, and no deploy by its id.
  expect(await ask(first.address.replace("~feature-x/", "~feature-xy/"))).toBe(404);
  expect(await ask(first.address.replace("~feature-x/", `${plain.deploy}/`))).toBe(404);

  await site.publish(second.deploy);
  expect(await ask(first.address)).toBe(303);
  const third = await show("three");
  expect([third.address, await ask(first.address)]).toEqual([first.address, "three"]);
  await site.remove(third.deploy);
  await site.publish(plain.deploy);
  expect(await ask(first.address)).toBe(404);
  for (const name of ["", "-a", "a-", "Feature", "a/b", "a".repeat(64)]) {
    const refused = await site.refused("begin", { preview: name });
    expect([name, refused.data]).toMatchObject([name, { field: "preview" }]);
  }
});

test("a deploy that is filled late takes the place of no later one of its preview name", async () => {
  await using node = await testNode();
  const site = await deploySite(node);
  const named = { preview: "feature-x", force: true };
  const begun = await site.begin(named);
  const later = await site.prepare({ "index.html": "later" }, named);
  const { address } = await site.preview(later.deploy);
  await site.preview(begun);
  expect(await (await fetch(node.url + address)).text()).toBe("later");
  await site.preview((await site.prepare({ "index.html": "last" }, named)).deploy);
  const asked = { token: node.superToken, events: ["deploy.deleted"] };
  const deleted = (await node.call("audit_list", asked)) as Array<{ fields: { deploy: string } }>;
  expect(deleted.map(({ fields }) => fields.deploy).sort()).toEqual([begun, later.deploy].sort());
});
