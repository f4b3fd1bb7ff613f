import { useEffect, useRef } from "preact/hooks";
import { connection, notDone } from "./connection.ts";
import { Icon } from "./ui/icons.tsx";

/** The one place that says that the server does not answer. As a popover it is seen above dialogs too. */
export function ConnectionBanner() {
  const place = useRef<HTMLDivElement>(null);
  const away = connection.value === "away";
  useEffect(() => {
    if (away) place.current?.showPopover();
    else place.current?.hidePopover();
  }, [away]);
  return (
    <div ref={place} popover="manual" class="connection-banner" role="alert">
      {away && (
        <>
          <Icon name="warning" />
          <span>
            The server cannot be reached. Trying again… This page continues by itself.
            {notDone.value && " What you asked for was not done: do it again when the server is back."}
          </span>
        </>
      )}
    </div>
  );
}
