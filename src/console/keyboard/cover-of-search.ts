/** Ends what the page shows in the place of its search, such as the actions for a selection. */
export const coverOfSearch: { current: (() => void) | undefined } = { current: undefined };
