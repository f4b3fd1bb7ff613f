import { decimalNumber } from "../../../base/numbers.ts";
import { escapeXml, isElement, printXml, textOf, type XmlElement } from "../../../base/xml.ts";
import { recordProperty } from "../../../buckets/metadata/properties.ts";
import type { Times } from "../../../buckets/ports.ts";
import { HttpError } from "../../request/http-error.ts";
import { type DavRequest, fileTime, hrefOf, writeConditions } from "../dav-request.ts";
import { element, lastModifiedName, liveProperties, propstat } from "../xml/live-properties.ts";
import { xmlResponse } from "../xml/multistatus.ts";
import { fullName, isDav, readXml } from "../xml/request-xml.ts";

interface Instruction {
  readonly name: string;
  /** Undefined removes the property. */
  readonly property: XmlElement | undefined;
}

const xmlLang = "{http://www.w3.org/XML/1998/namespace}lang";
/** Properties that set the times of a file, and how each writes a time. */
const timeProperties: ReadonlyMap<
  string,
  { readonly of: keyof Times; readonly read: (text: string) => number }
> = new Map([
  ["{urn:schemas-microsoft-com:}Win32LastModifiedTime", { of: "modified", read: Date.parse }],
  ["{urn:schemas-microsoft-com:}Win32LastAccessTime", { of: "accessed", read: Date.parse }],
  // Nextcloud, ownCloud, and rclone for both.
  [lastModifiedName, { of: "modified", read: fromSeconds }],
]);

/** proppatch executes all instructions in their order, or none: RFC 4918 §9.2. */
export async function proppatch(dav: DavRequest): Promise<Response> {
  const { request, files, bucket, path, audit } = dav;
  const instructions = parseInstructions(await readXml(request));
  const target = await files.reader.resolve(path);
  if (target.entry === undefined) throw new HttpError(404, "there is no such file or folder");
  const conditions = writeConditions(dav);
  await files.examine(target, { conditions });
  const properties = new Map<string, string | undefined>();
  const times: { -readonly [K in keyof Times]: Times[K] } = {};
  const problems = new Map<string, { readonly status: number; readonly condition: string }>();
  for (const { name, property } of instructions) {
    const timeProperty = timeProperties.get(name);
    if (timeProperty !== undefined) {
      if (property === undefined) continue;
      const time = fileTime(timeProperty.read(textOf(property).trim()));
      if (time === undefined) problems.set(name, { status: 409, condition: "" });
      else times[timeProperty.of] = time;
    } else if (isProtected(name)) {
      problems.set(name, { status: 403, condition: "<D:cannot-modify-protected-property/>" });
    } else properties.set(name, property === undefined ? undefined : printXml(property));
  }
  if (problems.size === 0) {
    await files.describe(path, { properties, times }, conditions);
    audit("file.described", { bucket: bucket.name, path });
  }
  const names = [...new Set(instructions.map(({ name }) => name))];
  const stats = names.map((name) => {
    const problem = problems.get(name);
    const status = problem?.status ?? (problems.size === 0 ? 200 : 424);
    const error = problem?.condition ? `<D:error>${problem.condition}</D:error>` : "";
    return propstat(element(name, ""), status, error);
  });
  const href = escapeXml(hrefOf(bucket.name, target.requested, target.entry.kind));
  return xmlResponse(
    207,
    `<D:multistatus xmlns:D="DAV:"><D:response><D:href>${href}</D:href>${stats.join("")}</D:response></D:multistatus>\n`,
  );
}

/** Computed by the server, or what S3 knows of the file: that changes only with its content. */
function isProtected(name: string): boolean {
  return name === recordProperty || (liveProperties.has(name) && !liveProperties.get(name)?.overridable);
}

/** Seconds since 1970; a date is understood, too. */
function fromSeconds(text: string): number {
  const seconds = decimalNumber(text);
  return seconds === undefined ? Date.parse(text) : seconds * 1000;
}

function parseInstructions(root: XmlElement | undefined): Instruction[] {
  if (root === undefined || !isDav(root, "propertyupdate"))
    throw new HttpError(400, "the body is not a propertyupdate element");
  const instructions: Instruction[] = [];
  for (const update of root.children.filter(isElement)) {
    const isSet = isDav(update, "set");
    if (!isSet && !isDav(update, "remove")) continue;
    for (const prop of update.children.filter(isElement)) {
      if (!isDav(prop, "prop")) continue;
      for (const property of prop.children.filter(isElement)) {
        const lang = [property, prop, update, root].map(({ attributes }) => attributes.get(xmlLang));
        instructions.push({
          name: fullName(property),
          property: isSet
            ? withLanguage(
                property,
                lang.find((tag) => tag !== undefined),
              )
            : undefined,
        });
      }
    }
  }
  if (instructions.length === 0) throw new HttpError(400, "the propertyupdate changes nothing");
  return instructions;
}

/** RFC 4918 §4.3: the language of a value is part of it. */
function withLanguage(property: XmlElement, language: string | undefined): XmlElement {
  if (language === undefined) return property;
  return { ...property, attributes: new Map([...property.attributes, [xmlLang, language]]) };
}
