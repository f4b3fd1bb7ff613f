import { linkTo, route } from "../../route.ts";
import { t } from "../../text/text.ts";
import { useLoad, WhenLoaded } from "../../ui/call.tsx";
import { Page } from "../../ui/page.tsx";
import MarkdownView from "../buckets/preview/markdown-view.tsx";

type Document = () => Promise<{ readonly default: string }>;

/** The documentation of this version, in the repository's own files. Each is fetched when it is shown. */
const documents: Readonly<Record<string, Document>> = {
  "backup-format.md": () => import("../../../../docs/backup-format.md"),
  "cli.md": () => import("../../../../docs/cli.md"),
  "cluster.md": () => import("../../../../docs/cluster.md"),
  "config.md": () => import("../../../../docs/config.md"),
  "console.md": () => import("../../../../docs/console.md"),
  "errors.md": () => import("../../../../docs/errors.md"),
  "events.md": () => import("../../../../docs/events.md"),
  "http.md": () => import("../../../../docs/http.md"),
  "monitor.md": () => import("../../../../docs/monitor.md"),
  "operate.md": () => import("../../../../docs/operate.md"),
  "performance.md": () => import("../../../../docs/performance.md"),
  "releases.md": () => import("../../../../docs/releases.md"),
  "rpc.md": () => import("../../../../docs/rpc.md"),
  "sites.md": () => import("../../../../docs/sites.md"),
  "storage.md": () => import("../../../../docs/storage.md"),
  "webdav.md": () => import("../../../../docs/webdav.md"),
};

/** One file of the documentation, in English. Links between the files work. */
export default function DocsPage() {
  const [name = "console.md"] = route.value.rest;
  const document = useLoad(async () => {
    const load = Object.hasOwn(documents, name) ? documents[name] : undefined;
    if (load === undefined) throw new Error(t.frame.noDocument(name));
    return withoutMarks((await load()).default);
  }, [name]);
  return (
    <Page title={t.frame.documentation}>
      <WhenLoaded of={document}>
        {(text) => (
          <div class="document" lang="en">
            <MarkdownView key={name} text={text} path={name} linkOf={linkToDocument} />
          </div>
        )}
      </WhenLoaded>
    </Page>
  );
}

/** The text without what only the repository shows: notes in comments, pictures, and the sections that links lead to. */
function withoutMarks(text: string): string {
  return text
    .replace(/^<!--.*?-->\n?/gms, "")
    .replace(/^!\[.*\n/gm, "")
    .replace(/\[([^\]]+)\]\(#[^)]*\)/g, "$1");
}

/** Address of another file, without the section in it; undefined for what is not shown here. */
function linkToDocument(target: string): string | undefined {
  const [file = ""] = target.split("#", 1);
  return Object.hasOwn(documents, file) ? linkTo("docs", [file]) : undefined;
}
