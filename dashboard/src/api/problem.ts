/** What the server refuses a call with: an RFC 9457 problem, as an error. */
import { say } from "@/language/say";

export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly facts: Record<string, unknown>;

  constructor(status: number, code: string, detail: string, facts: Record<string, unknown> = {}) {
    super(detail);
    this.name = "Refused";
    this.status = status;
    this.code = code;
    this.facts = facts;
  }
}

/** The call never reached the server, or its answer never came back. */
export class Unreachable extends Error {
  constructor() {
    super(say("The server cannot be reached."));
    this.name = "Unreachable";
  }
}

interface Problem {
  code?: string;
  detail?: string;
  facts?: Record<string, unknown> | null;
}

export async function refusalOf(response: Response): Promise<Refused> {
  const problem = await response
    .clone()
    .json()
    .then((body: unknown) => body as Problem)
    // A proxy in between answers with a page of its own: then the status is all there is to say.
    .catch((): Problem => ({}));
  const words =
    problem.detail ??
    say("The server answered {status} {statusText}", {
      status: response.status,
      statusText: response.statusText,
    }).trim();
  return new Refused(response.status, problem.code ?? "unknown", words, problem.facts ?? {});
}

export function isRefusal(error: unknown, status: number): boolean {
  return error instanceof Refused && error.status === status;
}

/** An error as a sentence for people. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
