import type { ComponentType } from "preact";
import type { Rights } from "./rights.ts";
import type { IconName } from "./ui/icons.tsx";

export interface PageEntry {
  /** In the address: `#/logs`. */
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  /** A page that the token may not use is not shown. */
  readonly shown: (rights: Rights) => boolean;
  /** What it takes, for who comes by an address. */
  readonly needs: string;
  /** Fetched when it is first shown. */
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
    shown: isSuper,
    needs: superToken,
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
