import type { Language } from "./language.ts";

/** Catalogues by language and group. Each is a chunk of its own, fetched when a page of its group is first shown. */
export const catalogues = {
  en: {
    frame: async () => (await import("./en/frame.ts")).frame,
    overview: async () => (await import("./en/overview.ts")).overview,
    logs: async () => (await import("./en/logs.ts")).logs,
    activity: async () => (await import("./en/activity.ts")).activity,
    buckets: async () => (await import("./en/buckets.ts")).buckets,
    bucketTabs: async () => (await import("./en/bucket-tabs.ts")).bucketTabs,
    files: async () => (await import("./en/files.ts")).files,
    sql: async () => (await import("./en/sql.ts")).sql,
    config: async () => (await import("./en/config.ts")).config,
    configKeys: async () => (await import("./en/config-keys.ts")).configKeys,
    tokens: async () => (await import("./en/tokens.ts")).tokens,
    update: async () => (await import("./en/update.ts")).update,
    api: async () => (await import("./en/api.ts")).api,
    help: async () => (await import("./en/help.ts")).help,
    editor: async () => (await import("./en/editor.ts")).editor,
  },
  zh: {
    frame: async () => (await import("./zh/frame.ts")).frame,
    overview: async () => (await import("./zh/overview.ts")).overview,
    logs: async () => (await import("./zh/logs.ts")).logs,
    activity: async () => (await import("./zh/activity.ts")).activity,
    buckets: async () => (await import("./zh/buckets.ts")).buckets,
    bucketTabs: async () => (await import("./zh/bucket-tabs.ts")).bucketTabs,
    files: async () => (await import("./zh/files.ts")).files,
    sql: async () => (await import("./zh/sql.ts")).sql,
    config: async () => (await import("./zh/config.ts")).config,
    configKeys: async () => (await import("./zh/config-keys.ts")).configKeys,
    tokens: async () => (await import("./zh/tokens.ts")).tokens,
    update: async () => (await import("./zh/update.ts")).update,
    api: async () => (await import("./zh/api.ts")).api,
    help: async () => (await import("./zh/help.ts")).help,
    editor: async () => (await import("./zh/editor.ts")).editor,
  },
} as const satisfies Readonly<Record<Language, object>>;

export type TextGroup = keyof (typeof catalogues)["en"];

/** Texts of a group. Every language has the same keys: a missing or misspelt one does not compile. */
export type Texts = { readonly [G in TextGroup]: Awaited<ReturnType<(typeof catalogues)["en"][G]>> };

export const textGroups = Object.keys(catalogues.en) as readonly TextGroup[];
