import { useState } from "preact/hooks";
import { basicAuthHint, fitsBasicAuth } from "../../../basic-auth.ts";
import { closeTo, go, linkTo, route } from "../../../route.ts";
import { useSession } from "../../../session/session.ts";
import { t } from "../../../text/text.ts";
import { CopyButton } from "../../../ui/copy.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { rich } from "../../../ui/rich.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import { type Step, waysToMount } from "./mount.ts";

/** Dialog with instructions to use a bucket as a network drive. */
export function MountDialog({ bucket, onClose }: { readonly bucket: string; readonly onClose: () => void }) {
  const { client, me, rights } = useSession();
  const ways = waysToMount(client.bucket(bucket).address(""), bucket, me.token_key);
  const [way, setWay] = useState(ways[0]?.name ?? "");
  return (
    <Dialog title={t.buckets.mountTitle(bucket)} wide onClose={onClose}>
      <p>
        {rich(t.buckets.mountIntro, {
          key: <code>{me.token_key}</code>,
          more: me.username === null || !fitsBasicAuth(me.username) ? "" : t.buckets.mountByName(me.username),
        })}
      </p>
      {me.username !== null && !fitsBasicAuth(me.username) && <p class="notice">{basicAuthHint()}</p>}
      {rights.may("token_create") && (
        <p>
          {rich(t.buckets.mountOthers, {
            link: <a href={linkTo("tokens", [], { preset: "webdav", bucket })}>{t.buckets.mountToken}</a>,
          })}
        </p>
      )}
      {!rights.overWebdav(bucket) && <p class="notice">{t.buckets.mountRefused}</p>}
      <Tabs
        label={t.buckets.system}
        tabs={ways.map(({ name }) => ({ name, title: name }))}
        chosen={way}
        onChoose={setWay}
        class="buckets-steps"
      >
        {ways
          .find(({ name }) => name === way)
          ?.steps.map((step) => (
            <OneStep key={step.text} step={step} />
          ))}
      </Tabs>
    </Dialog>
  );
}

function OneStep({ step: { text, code } }: { readonly step: Step }) {
  return (
    <div class="buckets-step">
      <p>{text}</p>
      {code !== undefined && (
        <div class="buckets-code">
          <pre tabIndex={0}>{code}</pre>
          <CopyButton text={code} />
        </div>
      )}
    </div>
  );
}

/** Bucket whose mount dialog is open, as the query of the address holds it. One step back closes the dialog, not the page. */
export function bucketToMount(): string | undefined {
  return route.value.query.get("mount") ?? undefined;
}

export function openMount(bucket: string): void {
  const { page, rest, query } = route.value;
  go(linkTo(page, rest, { ...Object.fromEntries(query), mount: bucket }));
}

export function closeMount(): void {
  closeTo({ ...Object.fromEntries(route.value.query), mount: "" }, (before) => !before.query.has("mount"));
}
