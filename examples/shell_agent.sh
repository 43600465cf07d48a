#!/usr/bin/env bash
# An agent that is a shell script: it takes tasks of type "count" until there are none, and counts the words of each
# prompt. Run it: taskyard enqueue count --prompt "how many words is this" && examples/shell_agent.sh
set -euo pipefail

field() { python3 -c 'import json,sys; print(json.load(sys.stdin)["tasks"][0][sys.argv[1]])' "$1"; }
prompt() { python3 -c 'import json,sys; print(json.load(sys.stdin)["tasks"][0]["spec"]["prompt"])'; }

while task=$(taskyard claim --agent counter --type count --json); do
  id=$(field id <<<"$task")
  lease=$(field lease <<<"$task")
  if words=$(prompt <<<"$task" | wc -w); then
    taskyard complete "$id" --lease "$lease" --output "{\"words\": $((words))}"
  else
    taskyard fail "$id" --lease "$lease" --reason crash --error "could not count"
  fi
done
