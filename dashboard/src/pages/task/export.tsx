/** The whole of a task as one JSON file: the task with its attempts, its events, and its steps with their results. */
import { useQueryClient } from "@tanstack/react-query";
import { Download } from "lucide-react";

import { checkpoints, steps, taskEvents, type TaskDetails } from "@/api/tasks";
import { wordsOf } from "@/api/problem";
import { say } from "@/language/say";
import { useToast } from "@/shell/toasts";

export function ExportTask({ task }: { task: TaskDetails }) {
  const client = useQueryClient();
  const tell = useToast();

  async function save(): Promise<void> {
    try {
      const [events, found, results] = await Promise.all([
        client.query(taskEvents(task.id)),
        client.query(steps(task.id)),
        client.query(checkpoints(task.id)),
      ]);
      download(`${task.id}.json`, { ...task, ...found, ...results, events });
    } catch (error) {
      tell("bad", wordsOf(error));
    }
  }

  return (
    <button
      type="button"
      className="button"
      title={say("As JSON, like: taskyard show {id} --steps --events --json", { id: task.id })}
      onClick={() => void save()}
    >
      <Download aria-hidden /> {say("Export")}
    </button>
  );
}

function download(name: string, value: unknown): void {
  const address = URL.createObjectURL(new Blob([JSON.stringify(value, null, 2)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
