import type { Audit } from "../../auth/audit-log.ts";
import type { BucketFiles } from "../../buckets/bucket-files.ts";
import type { TreePath } from "../../buckets/path.ts";
import type { Bucket } from "../../buckets/record.ts";
import type { Links, ValidLink } from "../../links/links.ts";

/** LinkRequest is a request whose link and password are right. */
export interface LinkRequest {
  readonly request: Request;
  readonly link: ValidLink;
  /** The file, or the folder of a drop box or an archive. */
  readonly path: TreePath;
  readonly bucket: Bucket;
  readonly files: BucketFiles;
  readonly links: Links;
  /** Records what was done, in the name of the token that made the link. */
  readonly audit: Audit;
}
