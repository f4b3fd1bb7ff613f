import { type Session, signInAgain } from "../../session.ts";

/**
 * After a change of one's own secret or password: goes on with the new one if the old one was what one signed in with. Answers
 * what to tell about it.
 */
export async function goOnWith(session: Session, token: string): Promise<string> {
  if (await session.isAccepted()) return "You stay signed in: you did not sign in with it.";
  await signInAgain(session, token);
  return "You stay signed in here, with the new one. Elsewhere you must sign in again.";
}
