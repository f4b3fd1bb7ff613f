import type { Token } from "../../../client/index.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { limitWords } from "./limits.ts";
import { deleteToken, nameOf, rollSecret } from "./token-acts.ts";
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

/** A token: whose it is, what it may do, until when. */
export function TokenCard({ token, isSuper, now, onEdit, onPassword, onGone }: TokenCardProps) {
  const session = useSession();
  const { state, words } = validityOf(token, now);
  return (
    <li class="card tokens-token" aria-label={nameOf(token)}>
      <div class="tokens-head">
        {token.username !== null && <strong>{token.username}</strong>}
        <code>{token.token_key}</code>
        {isSuper && <span class="badge accent">Super Token</span>}
        {token.token_key === session.me.token_key && <span class="badge good">you</span>}
        <span class={badges[state]}>{words}</span>
        {token.created_by !== null && (
          <span class="muted">
            made by <code>{token.created_by}</code>
          </span>
        )}
      </div>
      <ul class="tokens-words">
        {isSuper ? (
          <li>Everything. It can be neither edited nor deleted.</li>
        ) : (
          limitWords(token.token_limit).map((line) => <li key={line}>{line}</li>)
        )}
      </ul>
      <div class="row">
        {!isSuper && (
          <Button icon="edit" onClick={onEdit}>
            Edit
          </Button>
        )}
        <Button onClick={() => rollSecret(session, token)}>Rotate secret</Button>
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
