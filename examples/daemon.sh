#!/usr/bin/env bash
# A daemon in bash, curl and jq: it takes tasks for one agent from a Taskyard server, and runs a command for each.
#   TASKYARD_URL=http://127.0.0.1:8420 examples/daemon.sh coder wc -w
# The command gets the prompt on standard input; what it prints is the output, and its exit status says how it went.
# On SIGTERM or SIGINT the task at hand is given back. TASKYARD_TOKEN is shown to the server where it is set.
set -euo pipefail -m # -m: each background job is a process group of its own, to be ended whole
agent=${1:?usage: daemon.sh AGENT COMMAND [ARGUMENT ...]} && shift
url=${TASKYARD_URL:?must name the server}/api
runtime=${TASKYARD_RUNTIME:-$(hostname)-$agent} # the same after a restart, so that orphans are found
work=$(mktemp -d) && trap '[[ $BASHPID != $$ ]] || rm -rf "$work"' EXIT # a job killed right after its fork runs this too
stopping='' command='' lease='' round=0
end() { while kill -- "-$command" 2>/dev/null; do sleep 0.2; done; } # until it is gone: right after a fork, one is lost
trap 'stopping=1; [[ -z $command ]] || end' TERM INT
printf '%s' "${TASKYARD_TOKEN:+Authorization: Bearer $TASKYARD_TOKEN}" >"$work/token" # others can read command lines

say() { lease=$lease jq --null-input --compact-output --arg agent "$agent" --arg runtime "$runtime" "$@"; }
post() { # PATH: send what comes in, and again where no answer came: each of these calls may be repeated
  local body=$(cat) status try
  for try in 1 2 3; do
    curl -sS --fail-with-body --max-time 60 --retry 3 --retry-connrefused --write-out '\n' --header "@$work/token" \
      --header 'Content-Type: application/json' --data-binary @- "$url/$1" <<<"$body" && return || status=$?
    [[ $status != 22 ]] || return $status # the server has answered, and refused
    sleep "$try"
  done
  return "$status"
}
beat() { # keep the task at hand, and end the command where it is no longer wanted
  while sleep "$every"; do
    post "runtimes/$runtime/heartbeat" <<<'{}' >/dev/null || true
    told=$(say '{lease: env.lease}' | post "tasks/$id/heartbeat" | jq '.words[]') || continue
    [[ $told =~ cancelled|lease_lost|budget_exceeded ]] || continue
    echo "$told" >"$work/unwanted" && kill -- "-$command" && return
  done
}
work_on() { # TASK COMMAND…: one attempt, from start to end
  IFS=$'\t' read -r id lease every < <(jq --raw-output '[.id, .lease, .timeouts.heartbeat_sec] | @tsv' <<<"$1")
  jq --join-output .spec.prompt <<<"$1" >"$work/prompt" && rm -f "$work/unwanted" && shift
  say '{lease: env.lease}' | post "tasks/$id/start" || return 0 # it is somebody else's by now
  "$@" <"$work/prompt" >"$work/output" 2>"$work/error" & command=$!
  [[ -z $stopping ]] || end # told to stop before there was a command to end
  beat & beating=$!
  while wait "$command" && status=0 || status=$?; do # a signal ends the wait before it ends the command
    kill -0 "$command" 2>/dev/null || break
  done
  kill -KILL -- "-$beating" 2>/dev/null && wait "$beating" 2>/dev/null || true # which no trap of ours can catch
  command='' && [[ ! -e $work/unwanted ]] || return 0
  if ((status == 0)); then
    say --rawfile output "$work/output" '{lease: env.lease, $output}' | post "tasks/$id/complete" && return
  elif [[ $stopping ]]; then say '{lease: env.lease}' | post "tasks/$id/release" && return; fi
  say --arg error "$(tail -c 2000 "$work/error")" '{lease: env.lease, $error}' | post "tasks/$id/fail"
}
say --arg hostname "$(hostname)" --argjson pid $$ '{id: $runtime, $hostname, $pid}' | post runtimes
post "runtime/$runtime/orphans" <<<'{}' # what an earlier life of this daemon held is tried again
say '{id: $agent, runtime_id: $runtime}' | post agents
while [[ -z $stopping ]]; do
  asked=$(say --arg request_id "$$.$((++round)).$(date +%s%N)" '{runtime_id: $runtime, wait_sec: 5, $request_id}')
  task=$(post tasks/claim <<<"$asked" | jq --compact-output '.tasks[0] // empty') || { sleep 5; continue; }
  [[ -z $task ]] || work_on "$task" "$@" || echo "the server did not hear how $id went" >&2
done
post "agents/$agent/sign-off" <<<'{}'
