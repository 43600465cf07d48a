/** The yard's events as they happen: one stream for the whole page, which comes back by itself after any break. */
export interface YardEvent {
  seq: number;
  at: string;
  type: string;
  event: string;
  task_id: string | null;
  dag_id: string | null;
  workspace: string;
  payload: Record<string, unknown>;
}

export type Connection = "connecting" | "live" | "broken";

interface Listener {
  heard(event: YardEvent): void;
  /** The stream stands again after a break; `whole` says whether it resumed without a gap. */
  resumed(whole: boolean): void;
  moved(connection: Connection): void;
}

const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 15_000;

export class EventFeed {
  private source: EventSource | undefined;
  private timer: number | undefined;
  private last: number | undefined; // the number of the latest event: where a new stream resumes
  private wait = FIRST_WAIT;
  private isBroken = false;

  constructor(private readonly listener: Listener) {}

  start(): void {
    this.open();
  }

  stop(): void {
    window.clearTimeout(this.timer);
    this.source?.close();
  }

  private open(): void {
    const from = this.last === undefined ? "" : `?after=${this.last}`;
    const source = new EventSource(`/api/events${from}`);
    this.source = source;
    source.onopen = () => this.opened();
    source.onmessage = (message: MessageEvent<string>) => this.heard(message);
    source.addEventListener("problem", () => this.startOver());
    source.onerror = () => this.failed(source);
  }

  private opened(): void {
    const wasBroken = this.isBroken;
    this.isBroken = false;
    this.wait = FIRST_WAIT;
    this.listener.moved("live");
    if (wasBroken) this.listener.resumed(this.last !== undefined);
  }

  private heard(message: MessageEvent<string>): void {
    const event = JSON.parse(message.data) as YardEvent;
    this.last = event.seq;
    this.listener.heard(event);
  }

  private failed(source: EventSource): void {
    this.isBroken = true;
    this.listener.moved("broken");
    // The browser tries again by itself after a lost connection, but not after an answer that was no stream.
    if (source.readyState !== EventSource.CLOSED) return;
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.openAgain(), this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  private openAgain(): void {
    // A refusal cannot be read from here. The events after that number may be gone: on the second try it begins from now.
    if (this.wait > FIRST_WAIT * 2) this.last = undefined;
    this.open();
  }

  private startOver(): void {
    this.source?.close();
    this.last = undefined;
    this.isBroken = true;
    this.open();
  }
}
