import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { FrontToControl } from '../../../src/shared/link/messages.ts'
import { FrontLink } from '../../../src/shared/link/front-link.ts'
import { DeadlineClock } from '../../../src/shared/runtime/deadlines.ts'
import { createFrameEncoder, FrameDecoder } from '../../../src/shared/wire/link-frames.ts'
import { eventually } from '../../support/eventually.ts'
import { HEALTH } from './link-pair.ts'

/** In which whoever closes a socket at once has closed it. */
const TURNS = 20

it('a front that stops reads on until its last words were read', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-words-'))
  const socketPath = join(directory, 'link')
  // The control process is busy: it writes before it reads.
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true })
  onTestFinished(() => {
    server.close()
    rmSync(directory, { recursive: true })
  })
  server.listen(socketPath)
  await once(server, 'listening')
  const front = new FrontLink({
    socketPath,
    front: 'front-0',
    deadlines: new DeadlineClock({ now: () => 0, monotonicUs: () => 0 }),
  })
  front.start({
    onSnapshot: () => undefined,
    onHealth: () => undefined,
    onKeyHealthEvent: () => undefined,
    leases: {
      greeted: () => undefined,
      receive: () => undefined,
      unlinked: () => undefined,
      handingOver: () => undefined,
      lost: () => undefined,
      setHolders: () => undefined,
    },
  })
  const [control] = (await once(server, 'connection')) as [Socket]
  const faults: Error[] = []
  control.on('error', (fault) => faults.push(fault))
  await eventually(() => expect(front.connected).toBe(true))

  const farewell = { type: 'lease-farewell', windows: [{ allowance: 'key', limit: 1, used: [[1, 1]] }] } as const
  front.sendLease(farewell)
  const stopped = front.stop()
  for (let nth = 0; nth < TURNS; nth++) await turn()
  control.write(createFrameEncoder()(HEALTH))
  const heard: FrontToControl[] = []
  const decoder = new FrameDecoder()
  control.on('data', (chunk: Buffer) => {
    decoder.push(chunk, (value) => heard.push(value as FrontToControl))
  })
  control.on('end', () => control.end())
  control.resume()
  await stopped
  await eventually(() => expect(heard.at(-1)).toEqual(farewell))
  expect(faults).toEqual([])
})
