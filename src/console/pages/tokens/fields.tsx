import { useState } from "preact/hooks";
import { useSession } from "../../session/session.ts";
import { t } from "../../text/text.ts";
import { Button } from "../../ui/button.tsx";
import { useCall } from "../../ui/call.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Check, TextField } from "../../ui/form.tsx";
import {
  generatePassword,
  nameProblem,
  type PurposeName,
  passwordProblem,
  purposeNames,
  purposes,
} from "./draft.ts";

/** Bucket names to choose from. `complete` is true only for the Super Token, which can list all. */
export function useBucketNames(): { readonly names: readonly string[]; readonly complete: boolean } {
  const { rights } = useSession();
  const { value } = useCall("static-bucket_list", {});
  return { names: value ?? rights.namedBuckets, complete: value !== undefined };
}

interface NameFieldProps {
  readonly name: string;
  readonly onChange: (name: string) => void;
}

/** Field for the name of a token, which is a label for people. */
export function NameField({ name, onChange }: NameFieldProps) {
  return (
    <TextField
      label={t.frame.name}
      hint={t.tokens.nameHint}
      error={nameProblem(name)}
      value={name}
      onChange={onChange}
    />
  );
}

interface PasswordFieldProps {
  readonly label: string;
  readonly password: string;
  readonly onChange: (password: string, options: { readonly isGenerated: boolean }) => void;
}

/** Field for a new password. It is hidden while typed, and shown when generated or if requested. */
export function PasswordField({ label, password, onChange }: PasswordFieldProps) {
  const [shown, setShown] = useState(false);
  return (
    <>
      <TextField
        label={label}
        hint={t.tokens.passwordHint}
        error={passwordProblem(password)}
        type={shown ? "text" : "password"}
        autocomplete="new-password"
        value={password}
        onChange={(typed) => onChange(typed, { isGenerated: false })}
      />
      <div class="row">
        <Button
          onClick={() => {
            onChange(generatePassword(), { isGenerated: true });
            setShown(true);
          }}
        >
          {t.tokens.generate}
        </Button>
        {password !== "" && <CopyButton text={password} label={t.tokens.copyPassword} />}
        <Check label={t.tokens.show} checked={shown} onChange={setShown} />
      </div>
    </>
  );
}

interface PurposePickerProps {
  readonly purpose: PurposeName;
  readonly bucket: string;
  readonly onChange: (purpose: PurposeName, bucket: string) => void;
  readonly buckets: readonly string[];
  /** Whether `buckets` lists all buckets. */
  readonly complete: boolean;
}

/** Choice of a purpose, and of a bucket if it needs one. */
export function PurposePicker({ purpose, bucket, onChange, buckets, complete }: PurposePickerProps) {
  const isUnknown = complete && bucket !== "" && !bucket.endsWith("*") && !buckets.includes(bucket);
  return (
    <section class="card form" aria-label={t.tokens.purpose}>
      <h2>{t.tokens.whatFor}</h2>
      <fieldset class="tokens-purposes">
        <legend class="unseen">{t.tokens.purpose}</legend>
        {purposeNames.map((name) => (
          <button
            key={name}
            type="button"
            class="button"
            aria-pressed={name === purpose}
            onClick={() => onChange(name, bucket)}
          >
            <span>{t.tokens.purposes[name].title}</span>
          </button>
        ))}
      </fieldset>
      <p class="muted">{t.tokens.purposes[purpose].text}</p>
      {purposes[purpose].needsBucket && (
        <TextField
          label={t.tokens.bucket}
          hint={isUnknown ? t.tokens.bucketMissing : undefined}
          suggestions={buckets}
          required
          value={bucket}
          onChange={(name) => onChange(purpose, name)}
        />
      )}
    </section>
  );
}
