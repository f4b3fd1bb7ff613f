import type { Page } from "playwright-core";
import { type Language, languageRows, type Texts, textGroups } from "../../src/console/text/language.ts";
import { siteWith } from "../support/bucket.ts";
import { deployClient } from "../support/deploys.ts";
import { type TestNode, testNode } from "../support/node.ts";
import { showRoute } from "./show-route.ts";

/** A page or a tab of one, with an element that it has when everything has arrived. */
export interface View {
  readonly at: string;
  readonly arrived: string;
  /** The heading of the page. */
  readonly title: string | ((t: Texts) => string);
  /** The page shows the server's own words, which are English. */
  readonly isEnglish?: true;
  /** Dialogs and menus that open from here, by name. Escape closes each of them. */
  readonly opens?: Readonly<Record<string, (page: Page, t: Texts) => Promise<unknown>>>;
}

export async function textsOf(language: Language): Promise<Texts> {
  const loaded = await Promise.all(
    textGroups.map(async (group) => [group, await languageRows[language].texts[group]()] as const),
  );
  return Object.fromEntries(loaded) as Texts;
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).first().click();

async function choose(page: Page, menu: string, item: string): Promise<void> {
  await press(page, menu);
  await page.getByRole("menuitem", { name: item, exact: true }).click();
}

/** Selects the files of the list and presses a key there. */
async function atFiles(page: Page, t: Texts, key: string): Promise<void> {
  await page.getByRole("grid", { name: t.files.files }).focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press(key);
}

async function write(page: Page, text: string, key: string): Promise<void> {
  await page.locator(".cm-content").first().click();
  await page.keyboard.press("ControlOrMeta+Home");
  await page.keyboard.insertText(text);
  await page.keyboard.press(key);
}

/** Every page, every tab of a page, and their dialogs. */
export const views: readonly View[] = [
  { at: "/activity", title: (t) => t.frame.activity, arrived: "table" },
  {
    at: "/logs",
    title: (t) => t.frame.logs,
    arrived: ".logs-rows",
    opens: { "levels and targets": (page, t) => press(page, t.logs.grammar) },
  },
  {
    at: "/buckets",
    title: (t) => t.frame.buckets,
    arrived: ".buckets-row",
    opens: {
      "new bucket": (page, t) => press(page, t.buckets.newBucket),
      "row menu": (page, t) => press(page, t.buckets.actionsOf("site")),
      mount: (page, t) => choose(page, t.buckets.actionsOf("site"), t.buckets.mount),
      "delete bucket": (page, t) => choose(page, t.buckets.actionsOf("site"), t.buckets.deleteBucket),
    },
  },
  {
    at: "/buckets/site",
    title: "site",
    arrived: ".files-row",
    opens: {
      "new folder": (page, t) => press(page, t.files.newFolder),
      "new file": (page, t) => press(page, t.files.newFile),
      rename: (page, t) => atFiles(page, t, "F2"),
      delete: (page, t) => atFiles(page, t, "Delete"),
      preview: (page) => page.locator(".files-row a").last().click(),
      share: async (page, t) => {
        await page.locator(".files-row a").last().click({ button: "right" });
        await page.getByRole("menuitem", { name: t.files.shareLink }).click();
        // Its button would be under the mouse.
        await page.mouse.move(0, 0);
      },
      "menu of a file": (page) => page.locator(".files-row a").last().click({ button: "right" }),
      "move to": async (page, t) => {
        await page.locator(".files-row a").last().click({ button: "right" });
        await page.getByRole("menuitem", { name: t.files.moveTo }).click();
      },
    },
  },
  { at: "/buckets/site?entry=index.html", title: "site", arrived: ".files-chosen .more-menu" },
  {
    at: "/buckets/site/deploys",
    title: "site",
    arrived: "table",
    opens: { "roll back": (page, t) => press(page, t.bucketTabs.rollback) },
  },
  {
    at: "/buckets/site/links",
    title: "site",
    arrived: "table",
    opens: {
      "new link": (page, t) => press(page, t.bucketTabs.newLink),
      "revoke all": (page, t) => press(page, t.bucketTabs.revokeAll),
    },
  },
  {
    at: "/buckets/site/trash",
    title: "site",
    arrived: "table",
    opens: { "empty trash": (page, t) => press(page, t.bucketTabs.emptyTrash) },
  },
  { at: "/buckets/site/settings", title: "site", arrived: "form" },
  {
    at: "/sql",
    title: (t) => t.frame.sql,
    arrived: ".cm-content",
    opens: {
      "saved statements": (page, t) => press(page, t.sql.saved),
      history: (page, t) => press(page, t.sql.history),
      "statement that changes data": (page) => write(page, "DELETE FROM kv\n", "Control+Enter"),
    },
  },
  { at: "/sql?table=%22token%22", title: (t) => t.frame.sql, arrived: "[role=grid]" },
  {
    at: "/config",
    title: (t) => t.frame.config,
    arrived: ".cm-content",
    opens: { "save the configuration": (page) => write(page, "# a comment\n", "ControlOrMeta+s") },
  },
  {
    at: "/tokens",
    title: (t) => t.frame.tokens,
    arrived: ".tokens-table",
    opens: {
      "what may it do": (page, t) => choose(page, t.tokens.actionsFor("ada"), t.tokens.whatMayItDo),
      "change password": (page, t) => choose(page, t.tokens.actionsFor("ada"), t.tokens.changePassword),
      "rotate secret": (page, t) => choose(page, t.tokens.actionsFor("ada"), t.tokens.rotate),
      "S3 keys": (page, t) => choose(page, t.tokens.actionsFor("root"), t.tokens.showS3Keys),
      "delete token": (page, t) => choose(page, t.tokens.actionsFor("ada"), t.frame.delete),
    },
  },
  { at: "/tokens?preset=webdav", title: (t) => t.tokens.newToken, arrived: ".tokens-purposes" },
  { at: "/tokens?preset=own", title: (t) => t.tokens.newToken, arrived: ".tokens-purposes" },
  {
    at: "/tokens?own=yes",
    title: (t) => t.tokens.yourToken,
    arrived: ".account .row",
    opens: {
      "change the own password": (page, t) =>
        page.getByRole("button", { name: t.tokens.changePassword }).click(),
      "turn on codes": (page, t) => page.getByRole("button", { name: t.tokens.codes.turnOn }).click(),
    },
  },
  {
    at: "/update",
    title: (t) => t.frame.update,
    arrived: "form",
    opens: {
      "update question": async (page, t) => {
        await page.getByLabel(t.update.tag).fill("v9.9.9");
        await page.keyboard.press("Enter");
      },
    },
  },
  { at: "/api", title: (t) => t.frame.api, arrived: ".explorer-list" },
  {
    at: "/api/token_delete",
    title: (t) => t.frame.api,
    isEnglish: true,
    arrived: "article",
    opens: {
      "call question": async (page, t) => {
        await page.getByLabel("target_token").fill("ada");
        await press(page, t.api.send);
      },
    },
  },
  // The last one: its chart begins with the second measurement, some seconds after the start.
  {
    at: "/overview",
    title: (t) => t.frame.overview,
    arrived: "canvas",
    opens: {
      palette: (page) => page.keyboard.press("ControlOrMeta+k"),
      help: (page) => page.keyboard.press("?"),
    },
  },
];

export async function openView(page: Page, { at, arrived }: View): Promise<void> {
  await showRoute(page, at);
  await page.locator(arrived).first().waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
}

/** Dialog or menu that is open. */
export const opened = "dialog[open], [popover]:popover-open";

/** Opens each dialog and menu of a view in turn, and closes it again. */
export async function inEachDialog(
  page: Page,
  view: View,
  t: Texts,
  look: (name: string) => Promise<void>,
): Promise<void> {
  for (const [name, open] of Object.entries(view.opens ?? {})) {
    await open(page, t);
    await page.locator(opened).first().waitFor();
    await look(`${view.at}, ${name}`);
    await page.keyboard.press("Escape");
    await page.locator(opened).first().waitFor({ state: "hidden" });
  }
}

/** A server with something in every view. */
export async function livelyNode(): Promise<TestNode> {
  const node = await testNode({
    top: `keep_removed_days = 30\nrelease_url = "http://127.0.0.1:9/"\n`,
    logging: 'memory_log_filter = "info"\n',
  });
  const token = node.superToken;
  await siteWith(node, { "index.html": "first", "docs/guide.md": "# Guide", _redirects: "/a /b 999\n" });
  const site = deployClient(node);
  await site.deploy({ "index.html": "second", "app.js": "1", "notes.txt": "n" }, { note: "spring" });
  await node.call("static-bucket-file_delete", { token, name: "site", path: "app.js" });
  await node.call("static-bucket_create", { token, name: "media", public: false });
  await node.newToken(
    [{ scopes: [{ static_bucket: "site" }], permissions: [{ static_bucket_file: "read" }] }],
    {
      username: "ada",
      password: "a password",
      name: "laptop of Ada",
    },
  );
  await node.newToken([], { name: "old", timestamp_to: Date.now() - 1000 });
  const link = { token, name: "site", path: "index.html", expires_in: 3600 };
  await node.call("static-bucket-file_link", link);
  return node;
}
