import type { TextGroup } from "../en/index.ts";

export const zh = {
  frame: async () => (await import("./frame.ts")).frame,
  overview: async () => (await import("./overview.ts")).overview,
  logs: async () => (await import("./logs.ts")).logs,
  activity: async () => (await import("./activity.ts")).activity,
  buckets: async () => (await import("./buckets.ts")).buckets,
  bucketTabs: async () => (await import("./bucket-tabs.ts")).bucketTabs,
  files: async () => (await import("./files.ts")).files,
  sql: async () => (await import("./sql.ts")).sql,
  config: async () => (await import("./config.ts")).config,
  tokens: async () => (await import("./tokens.ts")).tokens,
  update: async () => (await import("./update.ts")).update,
  api: async () => (await import("./api.ts")).api,
  help: async () => (await import("./help.ts")).help,
  editor: async () => (await import("./editor.ts")).editor,
  refusals: async () => (await import("./refusals.ts")).refusals,
} satisfies Readonly<Record<TextGroup, () => Promise<unknown>>>;
