"""Stands in for Claude's command line: speaks the same lines by a script, and keeps a transcript.

Turns are counted over processes, in a file; each turn does what the script, a JSON file, has for it. As of Claude's,
an answer comes in parts with one id, of which only the end says how many tokens were written; the sum of a session
goes on when the session does; and after a result that is an error, the status is 1.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(os.environ["CLAUDE_SCRIPT"])
FOLDER = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects" / "here"
SESSION = "11111111-2222-4333-8444-555555555555"


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def note(what: str, value: Any) -> None:
    with SCRIPT.with_suffix(".log").open("a") as log:
        log.write(json.dumps([what, value]) + "\n")


def heard() -> dict[str, Any]:
    return json.loads(sys.stdin.readline())


def write(number: int, role: str, content: str) -> None:
    keep({"type": role, "uuid": f"{number:08}-0000-4000-8000-000000000000", "message": content})


def keep(entry: dict[str, Any]) -> None:
    say(type="transcript_mirror", filePath=str(FOLDER / f"{SESSION}.jsonl"), entries=[entry])


def answer(number: int, text: str) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 1}
    message = {"id": f"m{number}", "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage}
    stream({"type": "message_start", "message": {**message, "content": []}})
    for content in ({"type": "thinking", "thinking": "hm", "signature": ""}, {"type": "text", "text": text}):
        say(type="assistant", message={**message, "content": [content]}, session_id=SESSION)
    stream({"type": "message_delta", "usage": {"output_tokens": 100}})


def stream(event: dict[str, Any]) -> None:
    if "--include-partial-messages" in sys.argv:
        say(type="stream_event", event=event, uuid="u", session_id=SESSION, parent_tool_use_id=None)


def may_use(number: int, tool: str, given: dict[str, Any]) -> str:
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": f"call_{number}"}
    say(type="control_request", request_id=f"r{number}", request=request)
    while (answer := heard()).get("type") != "control_response":
        pass
    return answer["response"]["response"]["behavior"]


def main() -> None:
    arguments = sys.argv[1:]
    note("options", arguments)
    cost = 0.0
    if any(argument.startswith("--resume") for argument in arguments):
        paths = FOLDER.parent.rglob(f"{SESSION}.jsonl")
        entries = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
        note("resumed", [entry["message"] for entry in entries if "message" in entry])
        cost = next((entry["totalCostUSD"] for entry in reversed(entries) if "totalCostUSD" in entry), 0.0)
    initialize = heard()
    say(
        type="control_response",
        response={"subtype": "success", "request_id": initialize["request_id"], "response": {"commands": []}},
    )
    prompt = heard()["message"]["content"]
    note("prompt", prompt)
    say(type="system", subtype="init", session_id=SESSION, cwd=str(Path.cwd()), claude_code_version="9.0.0")
    counter = SCRIPT.with_suffix(".turn")
    number = int(counter.read_text()) if counter.exists() else 0
    turns = json.loads(SCRIPT.read_text())
    ending: dict[str, Any] = {"subtype": "success", "is_error": False, "result": "done"}
    while number < len(turns):
        turn, number = turns[number], number + 1
        counter.write_text(f"{number}")
        if turn.get("die"):
            os._exit(1)
        if "limit" in turn:
            info = {"status": "rejected", "resetsAt": turn["limit"], "rateLimitType": "five_hour"}
            say(type="rate_limit_event", rate_limit_info=info, uuid="u", session_id=SESSION)
            ending = {
                "subtype": "success",
                "is_error": True,
                "result": "You have hit your limit",
                "api_error_status": 429,
            }
            break
        if "tool" in turn:
            allowed = may_use(number, turn["tool"], turn["given"])
            note("tool", [turn["tool"], allowed])
            if allowed != "allow":
                if turn.get("ends"):
                    counter.write_text(f"{number - 1}")  # it will ask again
                    ending = {"subtype": "error_during_execution", "is_error": True, "errors": ["interrupted"]}
                    break
                continue
        answer(number, turn["say"])
        write(number, "assistant", turn["say"])
        cost += 0.0045 + turn.get("searches", 0)  # what the provider's own tools cost, no answer says
        ending = {**ending, "result": turn["say"]}
    keep({"type": "cost-state", "totalCostUSD": cost})
    say(
        type="result", **ending, duration_ms=1, duration_api_ms=1, num_turns=1, session_id=SESSION,
        total_cost_usd=cost, usage={"input_tokens": 0, "output_tokens": 0},
    )  # fmt: skip
    sys.stdin.read()
    sys.exit(1 if ending["is_error"] else 0)


main()
