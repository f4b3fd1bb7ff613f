/** skipNotes say in the help of `push` and `deploy` which files are not sent. */
export const skipNotes = `Skipped are node_modules, .env* and all other names that begin with a dot, except .well-known; then what
.nodeserverignore in DIR names (the syntax of .gitignore), then --exclude. What --include names is sent
all the same, except .git and .DS_Store; with a slash in it, also from a skipped folder.
Links are followed if they lead to a place inside DIR that is sent; the others are left out and listed.`;
