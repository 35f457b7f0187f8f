import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/**
 * Reads a pipe that only this process holds: when it breaks, what was to end with this process is ended and its directories are
 * deleted. Each line begins with + or -, then a signal, a process id and, where there is one, a directory.
 */
const WATCHDOG = `
all=' '
while read -r verb one; do
  case "$verb $all" in
    "- "*" $one "*) all="\${all%% $one *} \${all#* $one }" ;;
    "+ "*) all="$all$one " ;;
  esac
done
IFS=' '
for one in $all; do
  rest=\${one#*:}
  kill -CONT "\${rest%%:*}"; kill -"\${one%%:*}" "\${rest%%:*}"
done
sleep 1
for one in $all; do
  rest=\${one#*:}; directory=\${rest#*:}
  if [ -n "$directory" ]; then rm -rf -- "$directory"; fi
done`

let pipe: Writable | null = null

/**
 * Ends `child`, however this process ends: one that is killed can end nothing itself. A child that has ended is forgotten, its
 * directory with it.
 *
 * @param directory deleted after the child; no spaces
 */
export function endWithThisProcess(child: ChildProcess, signal: 'KILL' | 'QUIT', directory = ''): void {
  if (child.pid === undefined) return
  const one = `${signal}:${child.pid}:${directory}`
  pipe ??= startWatchdog()
  pipe.write(`+ ${one}\n`)
  child.once('exit', () => pipe?.write(`- ${one}\n`))
}

function startWatchdog(): Writable {
  // Of a group of its own: what a terminal sends to this one is not for it.
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  watchdog.on('error', () => undefined)
  watchdog.stdin.on('error', () => undefined)
  watchdog.unref()
  ;(watchdog.stdin as Socket).unref()
  return watchdog.stdin
}
