import { signal } from "@preact/signals";

/** A secret that the server just made, and shows only now. */
export interface Made {
  readonly title: string;
  readonly key: string;
  readonly secret: string;
  /** The key of who made it: shown to nobody else. */
  readonly by: string;
  /** The bucket that can be mounted with it. */
  readonly drive?: string | undefined;
  /** The bucket that can be pushed to with it. */
  readonly deploy?: string | undefined;
  readonly username?: string | undefined;
  readonly hasPassword?: boolean;
  /** The password where it was made up here, to be shown this one time. */
  readonly password?: string | undefined;
  readonly note?: string | undefined;
}

/** Outlives the page: a secret that is shown once must not go because the person was signed out and in again around it. */
export const made = signal<Made | undefined>(undefined);
