import { signal } from "@preact/signals";
import { basicAuthHint, fitsBasicAuth } from "../../basic-auth.ts";
import { serverUrl, useSession } from "../../session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { shellQuote } from "../../ui/shell-quote.ts";

/** Secret that the server has just created and returns only once. */
interface NewSecret {
  readonly title: string;
  readonly key: string;
  readonly secret: string;
  /** Key of the token that created it. The secret is shown only to that token. */
  readonly by: string;
  /** Bucket to show mount instructions for. */
  readonly drive?: string | undefined;
  /** Bucket to show a push command for. */
  readonly deploy?: string | undefined;
  readonly username?: string | undefined;
  readonly hasPassword?: boolean;
  /** Generated password, which is shown only once too. */
  readonly password?: string | undefined;
  readonly note?: string | undefined;
}

/** Secret to show. It outlives the page, so that signing in again does not lose it. */
export const newSecret = signal<NewSecret | undefined>(undefined);

/** Dialog that shows a new secret once. */
export function NewSecretDialog() {
  const { me } = useSession();
  const shown = newSecret.value;
  if (shown === undefined || shown.by !== me.token_key) return null;
  const close = () => {
    newSecret.value = undefined;
  };
  const leave = async () => {
    const sure = await confirm({
      title: t.tokens.closeQuestion,
      text: t.tokens.closeText,
      action: t.frame.close,
      danger: true,
    });
    if (sure) close();
  };
  return (
    <Dialog title={shown.title} onClose={leave}>
      <p>{t.tokens.copyNow}</p>
      {shown.note !== undefined && <p class="notice">{shown.note}</p>}
      <Secrets newSecret={shown} />
      <footer>
        <Button kind="primary" onClick={close}>
          {t.tokens.haveCopied}
        </Button>
      </footer>
    </Dialog>
  );
}

function Secrets({
  newSecret: { key, secret, drive, deploy, username, hasPassword, password },
}: {
  readonly newSecret: NewSecret;
}) {
  const { client } = useSession();
  return (
    <dl class="tokens-secrets">
      <Secret name={t.frame.token} text={`${key}:${secret}`} initialFocus />
      {username !== undefined && hasPassword && (
        <>
          <Secret name={t.tokens.byNameUser} text={username} />
          {password === undefined ? (
            <div>
              <dt>{t.frame.password}</dt>
              <dd>{t.tokens.typedPassword}</dd>
            </div>
          ) : (
            <Secret name={t.frame.password} text={password} />
          )}
          {!fitsBasicAuth(username) && (
            <div>
              <dt>{t.tokens.networkDrives}</dt>
              <dd>{basicAuthHint()}</dd>
            </div>
          )}
        </>
      )}
      {drive !== undefined && (
        <>
          <Secret name={t.tokens.driveAddress} text={client.bucket(drive).address("")} />
          <Secret name={t.tokens.driveUser} text={key} />
          <Secret name={t.tokens.drivePassword} text={secret} />
        </>
      )}
      {deploy !== undefined && (
        <Secret
          name={t.tokens.pushCommand}
          text={`NODE_SERVER_URL=${shellQuote(serverUrl)} node-server push ./dist ${shellQuote(deploy)}`}
        />
      )}
    </dl>
  );
}

interface SecretProps {
  readonly name: string;
  readonly text: string;
  readonly initialFocus?: boolean;
}

function Secret({ name, text, initialFocus = false }: SecretProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="tokens-secret">
        <code>{text}</code>
        <CopyButton text={text} label={t.frame.copy} initialFocus={initialFocus} />
      </dd>
    </div>
  );
}
