/** SocketTraffic counts the messages of all WebSockets. */
export class SocketTraffic {
  receivedMessages = 0;
  receivedBytes = 0;
  sentMessages = 0;
  sentBytes = 0;

  received(message: string | Buffer): void {
    this.receivedMessages += 1;
    this.receivedBytes += Buffer.byteLength(message);
  }

  sent(message: string): void {
    this.sentMessages += 1;
    this.sentBytes += Buffer.byteLength(message);
  }
}
