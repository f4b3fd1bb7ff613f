import type { Token } from "../../../client/index.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { limitSummary } from "./limits.ts";
import { deleteToken, displayName, rotateSecret } from "./token-actions.ts";
import { validityOf } from "./validity.ts";

export interface TokenCardProps {
  readonly token: Token;
  readonly isSuper: boolean;
  readonly now: number;
  readonly onEdit: () => void;
  readonly onPassword: () => void;
  readonly onGone: () => void;
}

const badges = { valid: "badge", expired: "badge bad", early: "badge warn" };

/** One token: name, rights, validity and actions. */
export function TokenCard({ token, isSuper, now, onEdit, onPassword, onGone }: TokenCardProps) {
  const session = useSession();
  const { state, text } = validityOf(token, now);
  return (
    <li class="card tokens-token" aria-label={displayName(token)}>
      <div class="tokens-head">
        {token.username !== null && <strong>{token.username}</strong>}
        <code>{token.token_key}</code>
        {isSuper && <span class="badge accent">Super Token</span>}
        {token.token_key === session.me.token_key && <span class="badge good">you</span>}
        <span class={badges[state]}>{text}</span>
        {token.created_by !== null && (
          <span class="muted">
            created by <code>{token.created_by}</code>
          </span>
        )}
      </div>
      <ul class="tokens-summary">
        {isSuper ? (
          <li>Everything. It cannot be edited or deleted.</li>
        ) : (
          limitSummary(token.token_limit).map((line) => <li key={line}>{line}</li>)
        )}
      </ul>
      <div class="row">
        {!isSuper && (
          <Button icon="edit" onClick={onEdit}>
            Edit
          </Button>
        )}
        <Button onClick={() => rotateSecret(session, token)}>Rotate secret</Button>
        {token.username !== null && <Button onClick={onPassword}>Change the password</Button>}
        {!isSuper && (
          <Button
            icon="trash"
            kind="quiet"
            onClick={async () => {
              if (await deleteToken(session, token)) onGone();
            }}
          >
            Delete
          </Button>
        )}
      </div>
    </li>
  );
}
