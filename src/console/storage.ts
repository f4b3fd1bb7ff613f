/**
 * Web storage that never throws. The person may have disabled storage, and other pages of the origin may have filled it, so a write
 * can be lost. Store only what the console can do without.
 */
class SafeStorage {
  readonly #open: () => Storage;

  constructor(open: () => Storage) {
    this.#open = open;
  }

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
      return use(this.#open());
    } catch (error) {
      if (error instanceof DOMException) return undefined;
      throw error;
    }
  }
}

/** Lasts as long as the tab. */
export const tabStorage = new SafeStorage(() => sessionStorage);
/** Lasts until the person clears it. */
export const browserStorage = new SafeStorage(() => localStorage);
