import { expect } from "bun:test";
import { inBrowser, openConsole, sharedNode } from "./browser.ts";

inBrowser(
  "files and deploys show what others do, and keep selection, scroll position and focus",
  async () => {
    await using node = await sharedNode();
    const { bucket: name, superToken: token } = node;
    await node.call("static-bucket_create", { token, name });
    const upload = (path: string) => node.call("static-bucket-file_upload", { token, name, path, body: "x" });
    for (let at = 10; at < 80; at += 1) await upload(`file-${at}.txt`);
    await using tab = await openConsole(node, { at: `/buckets/${name}` });
    const { page } = tab;
    const chosen = page.getByRole("checkbox", { name: "file-12.txt" });
    await chosen.check();
    await page.getByRole("grid", { name: "Files" }).focus();
    // The chosen file, which has the cursor, stays in view: the list scrolls to it where it is moved out.
    await page.evaluate("document.querySelector('[role=grid]').scrollTop = 40");
    const place =
      "[scrollY, document.querySelector('[role=grid]').scrollTop, document.activeElement.role].join()";
    const before = await page.evaluate<string>(place);
    await upload("a-from-a-drop-box.txt");
    await page.getByText("71 files").waitFor();
    expect(await page.evaluate<string>(place)).toBe(before);
    await page.getByText("1 selected").waitFor();
    await node.call("static-bucket-file_delete", { token, name, path: "a-from-a-drop-box.txt" });
    await page.getByText("70 files").waitFor();

    await page.getByRole("link", { name: "Deploys" }).click();
    const { deploy } = (await node.call("static-bucket_deploy_begin", { token, name, note: "from CI" })) as {
      deploy: string;
    };
    await node.call("static-bucket_deploy_publish", { token, name, deploy });
    await page.getByRole("row", { name: /from CI/ }).waitFor();
  },
);
