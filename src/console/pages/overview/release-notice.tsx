import { linkTo } from "../../route.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Icon } from "../../ui/icons.tsx";
import { useLoad } from "../../ui/load.ts";
import { usePolling } from "../../ui/polling.ts";
import { visibleText } from "../../ui/visible-text.tsx";

/** The server asks the release server at most once an hour. */
const refreshMs = 3_600_000;

/** Tells of a newer version. A release server that is away, or none at all, is not a problem of this server and shows nothing. */
export function ReleaseNotice() {
  const { client, rights } = useSession();
  const isAllowed = rights.may("node-server_latest_release");
  const { value, reload } = useLoad(
    async (signal) => (isAllowed ? client.call("node-server_latest_release", {}, { signal }) : undefined),
    [client, isAllowed],
  );
  usePolling(reload, refreshMs);
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
