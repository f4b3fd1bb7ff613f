import { useId, useRef, useState } from "preact/hooks";
import { basicAuthHint, fitsBasicAuth } from "../../../basic-auth.ts";
import { linkTo } from "../../../route.ts";
import { useSession } from "../../../session.ts";
import { CopyButton } from "../../../ui/copy.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { type Step, type Way, waysToMount } from "./mount.ts";

/** Dialog with instructions to use a bucket as a network drive. */
export function MountDialog({ bucket, onClose }: { readonly bucket: string; readonly onClose: () => void }) {
  const { client, me, rights } = useSession();
  const ways = waysToMount(client.bucket(bucket).address(""), bucket, me.token_key);
  const [way, setWay] = useState(ways[0]);
  return (
    <Dialog title={`Mount ${bucket}`} wide onClose={onClose}>
      <p>
        Use the bucket as a network drive. The user name is <code>{me.token_key}</code>, the key of the token
        that you are signed in with, and the password is its secret
        {me.username === null || !fitsBasicAuth(me.username)
          ? "."
          : `; or the user name ${me.username} with its password.`}
      </p>
      {me.username !== null && !fitsBasicAuth(me.username) && <p class="notice">{basicAuthHint}</p>}
      {rights.globally({ token: "create" }) && (
        <p>
          For others, and for machines:{" "}
          <a href={linkTo("tokens", [], { preset: "webdav", bucket })}>create a token for this drive only</a>.
        </p>
      )}
      {!rights.overWebdav(bucket) && (
        <p class="notice">
          This token will be refused: it needs all four of Read, Write, Delete and List on this bucket.
        </p>
      )}
      <Tabs ways={ways} chosen={way} choose={setWay} />
    </Dialog>
  );
}

interface TabsProps {
  readonly ways: readonly Way[];
  readonly chosen: Way | undefined;
  readonly choose: (way: Way) => void;
}

function Tabs({ ways, chosen, choose }: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const at = ways.findIndex(({ name }) => name === chosen?.name);
  const step = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = (at + by + ways.length) % ways.length;
    const way = ways[next];
    if (by === 0 || way === undefined) return;
    choose(way);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <>
      <div ref={list} class="segments buckets-tabs" role="tablist" aria-label="System" onKeyDown={step}>
        {ways.map((way, index) => (
          <button
            key={way.name}
            type="button"
            role="tab"
            id={`${id}-${index}`}
            aria-selected={index === at}
            aria-controls={`${id}-panel`}
            tabIndex={index === at ? 0 : -1}
            onClick={() => choose(way)}
          >
            {way.name}
          </button>
        ))}
      </div>
      <div class="buckets-steps" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${at}`}>
        {ways[at]?.steps.map((step) => (
          <OneStep key={step.text} step={step} />
        ))}
      </div>
    </>
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
