import type { Bucket, ResultOf } from "../../../client/index.ts";
import { ago, time } from "../../format.ts";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { act, useCall } from "../../ui/call.tsx";
import { visibleText } from "../../ui/visible-text.ts";

type Certificate = ResultOf<"node-server_certificates">[number];

/** A certificate is there within a minute. */
const refreshMs = 5000;

/** The certificates that the server orders for the host names of a bucket; nothing if it orders none. */
export function HostCertificates({ bucket }: { readonly bucket: Bucket }) {
  return <Certificates areShown={({ name }) => bucket.hosts?.includes(name) ?? false} />;
}

/** Those for the names of the server itself. */
export function ServerCertificates() {
  return <Certificates areShown={(certificate) => certificate.of === "server"} />;
}

function Certificates({ areShown }: { readonly areShown: (certificate: Certificate) => boolean }) {
  const { value, reload } = useCall("node-server_certificates", {}, { every: refreshMs });
  const own = value?.filter(areShown) ?? [];
  if (own.length === 0) return null;
  return (
    <section class="card form site-rules" aria-labelledby="certificates">
      <h2 id="certificates">{t.bucketTabs.certificates}</h2>
      <ul>
        {own.map((certificate) => (
          <li key={certificate.name}>
            <strong>{visibleText(certificate.name)}</strong> <State of={certificate} />
            {certificate.problem !== null && <ProblemOf certificate={certificate} onRenewed={reload} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function State({ of: { state, until } }: { readonly of: Certificate }) {
  const { certificateStates } = t.bucketTabs;
  return state === "issued" ? certificateStates.issued(time(until ?? 0)) : certificateStates[state];
}

interface ProblemProps {
  readonly certificate: Certificate;
  readonly onRenewed: () => void;
}

/** Why the last order failed, and what to do. */
function ProblemOf({ certificate: { name, problem }, onRenewed }: ProblemProps) {
  const { client, rights } = useSession();
  if (problem === null) return null;
  const { reason, advice, detail, retry_at } = problem;
  const renew = () =>
    act({ run: () => client.call("node-server_renew_certificate", { name }), after: onRenewed });
  return (
    <div class="notice">
      <div>
        <p>{t.bucketTabs.certificateAdvice[reason] ?? visibleText(advice)}</p>
        <p class="muted">{visibleText(detail)}</p>
        <p class="row">
          {t.bucketTabs.certificateRetry(ago(retry_at))}
          {rights.may("node-server_renew_certificate") && <Button onClick={renew}>{t.frame.tryAgain}</Button>}
        </p>
      </div>
    </div>
  );
}
