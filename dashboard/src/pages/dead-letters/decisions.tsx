/** What people decided, newest first. */
import { useQuery } from "@tanstack/react-query";
import { Gavel } from "lucide-react";

import { reviews } from "@/api/letters";
import { say } from "@/language/say";
import { TaskId } from "@/parts/copy";
import { Broken, Empty, Loading } from "@/parts/empty";
import { Card } from "@/parts/page";
import { At } from "@/parts/time";

const SHOWN = 200;

export function Decisions() {
  const { data, error, refetch } = useQuery(reviews);
  if (data === undefined) {
    return <Card>{error === null ? <Loading rows={6} /> : <Broken error={error} retry={() => void refetch()} />}</Card>;
  }
  const decided = data.reviews.filter((review) => review.resolution !== null).toReversed();
  if (decided.length === 0) {
    return (
      <Card>
        <Empty icon={Gavel} title={say("Nothing was decided yet")} command="taskyard dead report">
          {say("Who decided what, when and why is kept. The day's decisions as Markdown:")}
        </Empty>
      </Card>
    );
  }
  return (
    <Card title={say("Decisions")} twin={{ command: "taskyard dead report", path: "/api/dead-letters/reviews" }}>
      <div className="table-frame">
        <table className="table">
          <thead>
            <tr>
              <th>{say("When")}</th>
              <th>{say("Task")}</th>
              <th>{say("Died of")}</th>
              <th>{say("Decision")}</th>
              <th>{say("By")}</th>
              <th>{say("Why")}</th>
            </tr>
          </thead>
          <tbody>
            {decided.slice(0, SHOWN).map((review) => (
              <tr key={`${review.task_id}.${review.attempt}`}>
                <td>
                  <At at={review.reviewed_at} />
                </td>
                <td>
                  <TaskId id={review.task_id} />
                </td>
                <td>{review.reason}</td>
                <td>{review.resolution?.replaceAll("_", " ")}</td>
                <td>{review.reviewed_by}</td>
                <td className="prose">{review.note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
