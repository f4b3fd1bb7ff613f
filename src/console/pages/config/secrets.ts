/** The password in an address such as `postgres://user:password@host/name`, or behind `?password=`; rather too much than too little. */
export const secrets = /(?<=:\/\/[^\s:@/"']*:)[^\s"']+(?=@)|(?<=[?&]password=)[^&\s"']+/g;

export function hideSecrets(text: string): string {
  return text.replace(secrets, "••••••");
}

export function hasSecrets(text: string): boolean {
  return text.search(secrets) !== -1;
}
