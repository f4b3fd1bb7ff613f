/** pushNotes ends the help of `push`. */
export const pushNotes = `
Files are compared by size and hash; results of earlier pushes are stored in the user's state folder.
Files whose name begins with a dot are pushed too, except .git and .DS_Store.
Links are followed if they lead to a place inside DIR; the others are left out and listed.
Pages are uploaded after the files they refer to, the front page last; --delete runs after all uploads.`;
