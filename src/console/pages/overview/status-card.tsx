import type { ResultOf, StatusReason } from "../../../client/index.ts";
import { connection, consoleFetch } from "../../connection.ts";
import { ago, bytes, listed, number, time } from "../../format.ts";
import { linkTo } from "../../route.ts";
import type { Rights } from "../../session/rights.ts";
import { type Session, serverUrl, useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { useCall, useLoad } from "../../ui/call.tsx";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { visibleText } from "../../ui/visible-text.ts";

type Verdict = ShownStatus["verdict"];

const icons: Readonly<Record<Verdict, IconName>> = {
  unknown: "help",
  well: "check",
  attention: "warning",
  trouble: "warning",
};
const colours: Readonly<Record<Verdict, string>> = {
  unknown: "",
  well: "good",
  attention: "warn",
  trouble: "bad",
};

/** The state of the server in one word, with the reasons and where to go for each. */
export function StatusCard({ status }: { readonly status: ShownStatus | undefined }) {
  const { verdict, reasons } = status ?? { verdict: "unknown", reasons: [] };
  return (
    <section class={`overview-status ${colours[verdict]}`} aria-labelledby="status">
      <Icon name={icons[verdict]} />
      <div role="status">
        <h2 id="status">{t.overview.verdicts[verdict]}</h2>
        {status?.started !== undefined && <p>{startText(status.started, status.crashed === true)}</p>}
        {verdict === "unknown" && (
          <p>{status === undefined ? t.overview.measuring : t.overview.unknownReason}</p>
        )}
        {reasons.length > 0 && (
          <ul>
            {reasons.map((reason) => (
              <li key={keyOf(reason)}>
                {reasonText(reason)} <ReasonLink of={reason} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

/** A crash stays to be seen for a day. */
const crashShownMs = 86_400_000;

function startText(started: number, crashed: boolean): string {
  const isShown = crashed && Date.now() - started < crashShownMs;
  return isShown ? t.overview.crashed(ago(started)) : t.overview.started(ago(started));
}

function keyOf(reason: Reason): string {
  return "disk" in reason ? `${reason.code} ${reason.disk}` : reason.code;
}

function reasonText(reason: Reason): string {
  const texts = t.overview.reasons;
  switch (reason.code) {
    case "disk":
      return texts.disk(
        t.overview.disks[reason.disk === "database" ? "database" : "static"],
        bytes(reason.free_bytes),
      );
    case "failing":
      return texts.failing(number(Math.ceil(reason.share * 100)));
    case "slow":
      return texts.slow(number(Math.round(reason.seconds * 1000)));
    case "nodeLost":
    case "nodeNotReady":
    case "uncertified":
      return texts[reason.code](visibleText(listed(reason.names)));
    case "certificate":
      return texts.certificate(reason.level === "trouble", reason.expires.slice(0, 10));
    case "backup":
      return texts.backup(reason.last === null ? undefined : time(reason.last));
    case "errors":
      return texts.errors(reason.count, visibleText(reason.newest));
    case "signIns":
      return texts.signIns(reason.count);
    default:
      return texts[reason.code];
  }
}

/** Where to mend or examine it, if this token may go there. */
function ReasonLink({ of }: { readonly of: Reason }) {
  const { rights } = useSession();
  const target = targetOf(of);
  if (target === undefined || !target.isShown(rights)) return null;
  return <a href={linkTo(target.page, [], target.query ?? {})}>{target.title}</a>;
}

interface Target {
  readonly page: string;
  readonly query?: Record<string, string>;
  readonly title: string;
  readonly isShown: (rights: Rights) => boolean;
}

function targetOf({ code }: Reason): Target | undefined {
  switch (code) {
    case "database":
    case "readOnly":
    case "store":
    case "failing":
    case "backup":
    case "errors":
      return {
        page: "logs",
        query: { filter: "error" },
        title: t.frame.logs,
        isShown: (rights) => rights.may("log_list"),
      };
    case "signIns":
      return {
        page: "activity",
        query: { kind: "sign_in" },
        title: t.frame.activity,
        isShown: (rights) => rights.may("audit_list"),
      };
    case "disk":
    case "uncertified":
      return { page: "buckets", title: t.frame.buckets, isShown: ({ seesBuckets }) => seesBuckets };
    case "connections":
    case "certificate":
      return {
        page: "config",
        title: t.frame.config,
        isShown: (rights) => rights.may("node-server_read_config"),
      };
    case "schema":
      return {
        page: "update",
        title: t.frame.update,
        isShown: (rights) => rights.may("node-server_self_update"),
      };
    default:
      return undefined;
  }
}

/** As often as the server measures. */
const refreshMs = 10_000;

type Reason = StatusReason | { readonly code: "offline" };

/** What the server says of itself. Without the permission to ask it is unknown whether it is well. */
interface ShownStatus {
  readonly verdict: ResultOf<"node-server_status">["verdict"] | "unknown";
  readonly reasons: readonly Reason[];
  /** Unknown without the permission. */
  readonly started?: number;
  readonly crashed?: boolean;
}

/** The state of the server, refreshed while the tab is visible; undefined while it is read. */
export function useStatus(): ShownStatus | undefined {
  const session = useSession();
  const { value } = useLoad((signal) => readStatus(session, signal), [session, connection.value], {
    every: refreshMs,
  });
  return connection.value === "offline" ? { verdict: "trouble", reasons: [{ code: "offline" }] } : value;
}

async function readStatus({ client, rights }: Session, signal: AbortSignal): Promise<ShownStatus> {
  const status = rights.may("node-server_status")
    ? await client.call("node-server_status", {}, { signal }).catch(() => undefined)
    : undefined;
  // Without a database no token can be checked, so the server refuses the call; anybody may ask what it lacks.
  return status ?? (await readReadiness(signal));
}

/** The verdict on the parts of the server, which it only gives if one of them is not well. */
async function readReadiness(signal: AbortSignal): Promise<ShownStatus> {
  const response = await consoleFetch(`${serverUrl}/node/ready`, { signal, credentials: "omit" });
  return { verdict: "unknown", reasons: [], ...((await response.json()) as Partial<ShownStatus>) };
}

/** The server asks the release server at most once an hour. */
const releaseRefreshMs = 3_600_000;

/** Tells of a newer version. A release server that is away, or none at all, is not a problem of this server and shows nothing. */
export function ReleaseNotice() {
  const { rights } = useSession();
  const { value } = useCall("node-server_latest_release", {}, { every: releaseRefreshMs });
  if (value === undefined || !value.newer || value.latest === null) return null;
  const link = linkTo("update");
  const text = t.overview.newVersion(visibleText(value.latest), visibleText(value.current));
  return (
    <p class="notice good overview-release">
      <Icon name="update" />
      <span>
        {text} {rights.may("node-server_self_update") && <a href={link}>{t.frame.update}</a>}
      </span>
    </p>
  );
}
