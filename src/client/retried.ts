import { ClientError } from "./errors.ts";

/** Sends a request, and once more where `onError` answers true to its failure. */
export async function retried<T>(
  onError: ((error: ClientError) => boolean | Promise<boolean>) | undefined,
  send: () => Promise<T>,
): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof ClientError) || !(await onError?.(error))) throw error;
  }
  return send();
}
