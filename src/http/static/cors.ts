import type { Bucket } from "../../buckets/record.ts";

/** staticMethods are the HTTP methods of every file of a bucket. */
export const staticMethods = ["GET", "HEAD", "OPTIONS"] as const;

export const corsHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "ETag, Content-Length, Content-Range",
};
const preflightHeaders = {
  ...corsHeaders,
  "access-control-allow-methods": staticMethods.join(", "),
  "access-control-allow-headers": "*",
  "access-control-max-age": "86400",
};

/** withCors adds the CORS headers of a bucket with `cors` to every response, errors included. */
export function withCors(bucket: Bucket, { method }: Request, response: Response): Response {
  if (bucket.cors) {
    const headers = method === "OPTIONS" ? preflightHeaders : corsHeaders;
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  }
  return response;
}
