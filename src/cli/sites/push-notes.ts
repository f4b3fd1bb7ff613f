import { skipNotes } from "../transfer/skip-notes.ts";

/** pushNotes ends the help of `push`. */
export const pushNotes = `
Files are compared by size and hash; results of earlier pushes are stored in the user's state folder.
${skipNotes}
--delete keeps skipped files in the bucket, too.
--watch --json prints a line for each event: watching, pushed, folder_missing, retrying.
Pages are uploaded after the files they refer to, the front page last; --delete runs after all uploads.`;
