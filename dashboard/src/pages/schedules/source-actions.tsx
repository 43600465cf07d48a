/** What can be done to a schedule and to a trigger alike: paused, resumed, removed. */
import { CirclePause, CirclePlay, Trash2 } from "lucide-react";

import { Action } from "@/parts/action";

/** How one kind of source is steered, and what that means for it. */
export interface Steering {
  group: "schedules" | "triggers"; // on the command line
  pause: (id: string) => Promise<unknown>;
  resume: (id: string) => Promise<unknown>;
  remove: (id: string) => Promise<unknown>;
  whilePaused: string;
  onceResumed: string;
  resumed: string; // what it does again
}

interface SourceActionsProps {
  id: string;
  isPaused: boolean;
  steering: Steering;
}

export function SourceActions({ id, isPaused, steering }: SourceActionsProps) {
  return (
    <>
      {isPaused ? (
        <Action
          label="Resume"
          icon={CirclePlay}
          needs="operate"
          small
          title={`Resume ${id}`}
          command={`taskyard ${steering.group} resume ${id}`}
          run={() => steering.resume(id)}
          done={`${id} ${steering.resumed}`}
        >
          <p>{steering.onceResumed}</p>
        </Action>
      ) : (
        <Action
          label="Pause"
          icon={CirclePause}
          needs="operate"
          small
          title={`Pause ${id}`}
          command={`taskyard ${steering.group} pause ${id}`}
          run={() => steering.pause(id)}
          done={`${id} is paused`}
        >
          <p>{steering.whilePaused}</p>
        </Action>
      )}
      <Action
        label={`Remove ${id}`}
        icon={Trash2}
        needs="operate"
        small
        bare
        danger
        title={`Remove ${id}`}
        confirm="Remove"
        command={`taskyard ${steering.group} rm ${id}`}
        run={() => steering.remove(id)}
        done={`${id} is removed`}
      >
        <p>It ends for good. What it has made stays.</p>
      </Action>
    </>
  );
}
