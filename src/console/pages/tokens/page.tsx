import { useState } from "preact/hooks";
import type { Token } from "../../../client/index.ts";
import { amend, route } from "../../route.ts";
import { useSession } from "../../session.ts";
import { Button } from "../../ui/button.tsx";
import { useLoad } from "../../ui/load.ts";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { CreateForm } from "./create-form.tsx";
import { EditForm } from "./edit-form.tsx";
import { MadeDialog } from "./made-dialog.tsx";
import { purposeNamed } from "./purposes.ts";
import { TokenList } from "./token-list.tsx";

export default function TokensPage() {
  const { rights } = useSession();
  return (
    <>
      {rights.isSuper ? <AllTokens /> : <OnlyCreate />}
      <MadeDialog />
    </>
  );
}

/** What the Super Token sees. */
function AllTokens() {
  const { client } = useSession();
  const { query } = route.value;
  const [editing, setEditing] = useState<Token>();
  const { value, error, reload } = useLoad(
    async (signal) => (await client.call("token_list_all_tokens", {}, { signal })).tokens,
    [client],
  );
  const creating = query.get("preset") ?? undefined;
  const back = () => {
    setEditing(undefined);
    amend({});
  };
  const done = () => {
    back();
    reload();
  };
  if (creating !== undefined)
    return (
      <Page title="New token">
        <CreateForm key={location.hash} {...asked()} onDone={done} onCancel={back} />
      </Page>
    );
  if (editing !== undefined)
    return (
      <Page title="Edit a token">
        <EditForm token={editing} onDone={done} onCancel={back} />
      </Page>
    );
  return (
    <Page
      title="Tokens"
      actions={
        <Button icon="plus" kind="primary" onClick={() => amend({ preset: "webdav" })}>
          New token
        </Button>
      }
    >
      {error !== undefined && <Problem error={error} retry={reload} />}
      {value === undefined && error === undefined && <p class="loading">Loading…</p>}
      {value !== undefined && <TokenList tokens={value} onEdit={setEditing} onChanged={reload} />}
    </Page>
  );
}

/** What a token sees that may make others, and nothing more. */
function OnlyCreate() {
  return (
    <Page title="New token">
      <p>
        Your token can make others, with permissions that it holds itself. The list of all tokens is for the
        Super Token alone.
      </p>
      <CreateForm key={location.hash} {...asked()} onDone={() => amend({})} />
    </Page>
  );
}

/** What the address says of the token to make. */
function asked() {
  const { query } = route.value;
  return {
    purpose: purposeNamed(query.get("preset")) ?? "webdav",
    bucket: query.get("bucket") ?? "",
  } as const;
}
