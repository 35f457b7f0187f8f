import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/**
 * Reads a pipe that only this process holds. When the pipe breaks, the script ends the registered processes and deletes their
 * directories. Each line begins with + or -, then a signal, a process id and an optional directory.
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
 * Ends `child` with this process, also when this process is killed. A child that has ended is forgotten, and so is its
 * directory.
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
  // A separate process group: signals of the terminal to this process do not reach the watchdog.
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  watchdog.on('error', () => undefined)
  watchdog.stdin.on('error', () => undefined)
  watchdog.unref()
  ;(watchdog.stdin as Socket).unref()
  return watchdog.stdin
}
