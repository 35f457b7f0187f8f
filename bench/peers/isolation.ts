import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { endWithThisProcess } from '../../src/cli/bench/end-with-this-process.ts'
import { ISOLATED } from './peer.ts'

/** `unshare` as root keeps the user, so that Postgres can change to another one; other users need a namespace of users, too. */
const UNSHARE = process.getuid?.() === 0 ? ['--net'] : ['--net', '--map-current-user', '--keep-caps']
const LOOPBACK = 'ip link set lo up'

/** Whether this machine lets us make a network that has nothing but a loopback address. */
export function canIsolate(): boolean {
  return spawnSync('unshare', [...UNSHARE, 'sh', '-c', LOOPBACK], { stdio: 'ignore' }).status === 0
}

/** Runs this program again with the same arguments, in a network of its own. Resolves to its exit code. */
export async function runIsolated(): Promise<number> {
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const child = spawn('unshare', [...UNSHARE, 'sh', '-c', `${LOOPBACK} && exec "$@"`, 'sh', ...again], {
    stdio: 'inherit',
    env: { ...process.env, [ISOLATED]: 'yes' },
  })
  endWithThisProcess(child, 'KILL')
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
