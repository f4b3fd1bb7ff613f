/** IncomingRequest is a request with what a transport that takes uploads needs of its connection. */
export interface IncomingRequest {
  readonly request: Request;
  /** The whole path, as it was sent. */
  readonly rawPath: string;
  /** The client's IP address. */
  readonly address: string;
  /** Restarts the time without progress after which the connection is dropped. */
  restartIdleTimer(): void;
}
