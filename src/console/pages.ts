import type { ComponentType } from "preact";
import type { Rights } from "./session/rights.ts";
import type { TextGroup } from "./text/language.ts";
import { t } from "./text/text.ts";
import type { IconName } from "./ui/icons.tsx";

export interface PageEntry {
  /** Path in the address: `#/logs`. */
  readonly path: string;
  readonly title: () => string;
  readonly icon: IconName;
  /** Whether the page is in the menu of a token with these rights. */
  readonly shown: (rights: Rights) => boolean;
  /** Whether such a token may open it by its address. Default: `shown`. */
  readonly opens?: (rights: Rights) => boolean;
  /** Required permission, shown to a person who opens the address without it. */
  readonly needs: () => string;
  /** File of the documentation about it. */
  readonly docs: string;
  /** Groups of texts that its code uses. */
  readonly texts: readonly TextGroup[];
  /** Fetches the page's code when it is first shown. */
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

/** Every page, in the order of the menu. */
export const pages: readonly PageEntry[] = [
  {
    path: "overview",
    title: () => t.frame.overview,
    icon: "overview",
    // A token for buckets alone gets nothing but refusals there.
    shown: ({ seesServer, seesBuckets }) => seesServer || !seesBuckets,
    needs: () => t.frame.needsAnyToken,
    docs: "console.md",
    texts: ["overview", "logs", "activity"],
    load: () => import("./pages/overview/page.tsx"),
  },
  {
    path: "activity",
    title: () => t.frame.activity,
    icon: "activity",
    shown: (rights) => rights.may("log_list"),
    needs: () => t.frame.needsLogs,
    docs: "console.md",
    texts: ["activity"],
    load: () => import("./pages/activity/page.tsx"),
  },
  {
    path: "logs",
    title: () => t.frame.logs,
    icon: "logs",
    shown: (rights) => rights.may("log_list"),
    needs: () => t.frame.needsLogs,
    docs: "console.md",
    texts: ["logs"],
    load: () => import("./pages/logs/page.tsx"),
  },
  {
    path: "buckets",
    title: () => t.frame.buckets,
    icon: "buckets",
    shown: ({ seesBuckets }) => seesBuckets,
    needs: () => t.frame.needsBucket,
    docs: "console.md",
    texts: ["buckets", "files", "bucketTabs"],
    load: () => import("./pages/buckets/page.tsx"),
  },
  {
    path: "sql",
    title: () => t.frame.sql,
    icon: "sql",
    shown: (rights) => rights.may("node-server_exec_sql"),
    needs: () => t.frame.needsSql,
    docs: "console.md",
    texts: ["sql"],
    load: () => import("./pages/sql/page.tsx"),
  },
  {
    path: "config",
    title: () => t.frame.config,
    icon: "config",
    shown: (rights) => rights.may("node-server_read_config"),
    needs: () => t.frame.needsSuperToken,
    docs: "config.md",
    texts: ["config"],
    load: () => import("./pages/config/page.tsx"),
  },
  {
    path: "tokens",
    title: () => t.frame.tokens,
    icon: "tokens",
    shown: (rights) => rights.may("token_create"),
    // Everybody can see what the own token may do.
    opens: () => true,
    needs: () => t.frame.needsAnyToken,
    docs: "console.md",
    texts: ["tokens"],
    load: () => import("./pages/tokens/page.tsx"),
  },
  {
    path: "update",
    title: () => t.frame.update,
    icon: "update",
    shown: (rights) => rights.may("node-server_self_update"),
    needs: () => t.frame.needsSuperToken,
    docs: "releases.md",
    texts: ["update"],
    load: () => import("./pages/update/page.tsx"),
  },
  {
    path: "api",
    title: () => t.frame.api,
    icon: "api",
    shown: () => true,
    needs: () => t.frame.needsAnyToken,
    docs: "rpc.md",
    texts: ["api"],
    load: () => import("./pages/explorer/page.tsx"),
  },
  {
    path: "docs",
    title: () => t.frame.documentation,
    icon: "help",
    // The help leads there.
    shown: () => false,
    opens: () => true,
    needs: () => t.frame.needsAnyToken,
    docs: "console.md",
    texts: ["files"],
    load: () => import("./pages/docs/page.tsx"),
  },
];
