/**
 * What the browser keeps for this origin, where it keeps anything: a person may have forbidden it, and other pages of the origin
 * may have filled it. Nothing here is so dear that the console could not do without.
 */
export class Kept {
  constructor(private readonly open: () => Storage) {}

  read(key: string): string | undefined {
    return this.#try((storage) => storage.getItem(key)) ?? undefined;
  }

  write(key: string, text: string): void {
    this.#try((storage) => storage.setItem(key, text));
  }

  remove(key: string): void {
    this.#try((storage) => storage.removeItem(key));
  }

  #try<T>(use: (storage: Storage) => T): T | undefined {
    try {
      return use(this.open());
    } catch (error) {
      if (error instanceof DOMException) return undefined;
      throw error;
    }
  }
}

/** As long as the tab is open. */
export const inTab = new Kept(() => sessionStorage);
/** Until somebody clears it. */
export const inBrowser = new Kept(() => localStorage);
