import { linkTo } from "../../route.ts";
import { useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { useCall } from "../../ui/call.tsx";
import { Icon } from "../../ui/icons.tsx";
import { visibleText } from "../../ui/visible-text.tsx";

/** The server asks the release server at most once an hour. */
const refreshMs = 3_600_000;

/** Tells of a newer version. A release server that is away, or none at all, is not a problem of this server and shows nothing. */
export function ReleaseNotice() {
  const { rights } = useSession();
  const { value } = useCall("node-server_latest_release", {}, { every: refreshMs });
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
