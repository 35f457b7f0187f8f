import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FrameWriter } from '../../src/journal/frames.ts'
import { frameAround } from '../contract/test-journal.ts'

/** Leaves the journal of a process that has ended, with one frame that is no record. @param writer its name, of no other process */
export function plantDeadLetter(dataDir: string, writer: string): void {
  const frames = new FrameWriter()
  frames.appendHeader({ writer, pid: 1, startTicks: '0', bootId: 'gone', createdAtMs: Date.now() })
  // Whole at once: a segment that is found half written would be taken for whole.
  const made = join(dataDir, 'made.seg')
  writeFileSync(made, Buffer.concat([frames.take(), frameAround(Buffer.from('a0', 'hex'))]))
  renameSync(made, join(dataDir, 'journal', `${writer}-00000001.seg`))
}
