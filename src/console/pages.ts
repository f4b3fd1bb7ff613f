import type { ComponentType } from "preact";
import type { Rights } from "./rights.ts";
import type { IconName } from "./ui/icons.tsx";

export interface PageEntry {
  /** Path in the address: `#/logs`. */
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  /** Whether the page is in the menu of a token with these rights. */
  readonly shown: (rights: Rights) => boolean;
  /** Required permission, shown to a person who opens the address without it. */
  readonly needs: string;
  /** Fetches the page's code when it is first shown. */
  readonly load: () => Promise<{ readonly default: ComponentType }>;
}

const isSuper = ({ isSuper }: Rights) => isSuper;
const superToken = "the Super Token";

/** Every page, in the order of the menu. */
export const pages: readonly PageEntry[] = [
  {
    path: "overview",
    title: "Overview",
    icon: "overview",
    shown: () => true,
    needs: "any token",
    load: () => import("./pages/overview/page.tsx"),
  },
  {
    path: "logs",
    title: "Logs",
    icon: "logs",
    shown: (rights) => rights.globally({ node: "read_logs" }),
    needs: "the Super Token, or the permission Node::ReadLogs in scope global",
    load: () => import("./pages/logs/page.tsx"),
  },
  {
    path: "buckets",
    title: "Buckets",
    icon: "buckets",
    shown: ({ seesBuckets }) => seesBuckets,
    needs: "a permission on a bucket",
    load: () => import("./pages/buckets/page.tsx"),
  },
  {
    path: "sql",
    title: "SQL",
    icon: "sql",
    shown: (rights) => rights.globally({ node: "exec_sql" }),
    needs: "the permission Node::ExecSql in scope global",
    load: () => import("./pages/sql/page.tsx"),
  },
  {
    path: "config",
    title: "Config",
    icon: "config",
    shown: isSuper,
    needs: superToken,
    load: () => import("./pages/config/page.tsx"),
  },
  {
    path: "tokens",
    title: "Tokens",
    icon: "tokens",
    shown: (rights) => rights.globally({ token: "create" }),
    needs: "the Super Token, or the permission Token::Create in scope global",
    load: () => import("./pages/tokens/page.tsx"),
  },
  {
    path: "update",
    title: "Update",
    icon: "update",
    shown: isSuper,
    needs: superToken,
    load: () => import("./pages/update/page.tsx"),
  },
  {
    path: "api",
    title: "API",
    icon: "api",
    shown: () => true,
    needs: "any token",
    load: () => import("./pages/explorer/page.tsx"),
  },
];
