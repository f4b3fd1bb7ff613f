/**
 * Texts about the keys of the configuration. The descriptions that the server declares are in English and come with the list of the
 * keys; another language has its own, by `name` or `table.name`.
 */
export const configKeys = {
  descriptions: {} as Readonly<Record<string, string>>,
  types: {} as Readonly<Record<string, string>>,
};
