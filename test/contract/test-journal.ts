import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JournalRecord } from '../../src/shared/core/request-record.ts'
import { crc32c } from '../../src/journal/crc32c.ts'
import { FRAME_HEADER_BYTES, FrameWriter } from '../../src/journal/frames.ts'
import { decodeFields } from '../../src/journal/record.ts'
import type { RecordFields } from '../../src/journal/record.ts'

/** A directory of segments, and who of its writers is alive. */
export class TestJournal {
  readonly directory = mkdtempSync(join(tmpdir(), 'sluice-journal-'))
  readonly #dead = new Set<string>()

  writer(name: string): TestWriter {
    return new TestWriter(this.directory, name)
  }

  endWriter(name: string): void {
    this.#dead.add(name)
  }

  readonly isWriterAlive = ({ writer }: { writer: string }): boolean => !this.#dead.has(writer)

  files(): string[] {
    return readdirSync(this.directory).sort()
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Writes as a front does: whole frames, in order, to one segment after the other. */
export class TestWriter {
  readonly #directory: string
  readonly #name: string
  readonly #frames = new FrameWriter()
  #sequence = 0
  path = ''

  constructor(directory: string, name: string) {
    this.#directory = directory
    this.#name = name
    this.rotate()
  }

  rotate(): void {
    this.#sequence += 1
    this.path = join(this.#directory, `${this.#name}-${String(this.#sequence).padStart(8, '0')}.seg`)
    const identity = { pid: 1, startTicks: '1', bootId: 'boot', createdAtMs: 1_735_732_800_000 + this.#sequence }
    this.#frames.appendHeader({ writer: this.#name, ...identity })
    writeFileSync(this.path, this.#frames.take())
  }

  write(...records: JournalRecord[]): void {
    for (const record of records) this.#frames.append(record)
    appendFileSync(this.path, this.#frames.take())
  }

  writeBytes(bytes: Uint8Array): void {
    appendFileSync(this.path, bytes)
  }

  sizeBytes(): number {
    return statSync(this.path).size
  }

  truncate(bytes: number): void {
    truncateSync(this.path, bytes)
  }
}

export function framesOf(...records: JournalRecord[]): Buffer {
  const frames = new FrameWriter()
  for (const record of records) frames.append(record)
  return Buffer.from(frames.take())
}

/** What the settler reads of a record that a front wrote. */
export function fieldsOf(record: JournalRecord): RecordFields {
  return decodeFields(framesOf(record), FRAME_HEADER_BYTES)
}

/** A frame whose checksum holds, around anything. */
export function frameAround(payload: Buffer): Buffer {
  const frame = Buffer.alloc(8 + payload.length)
  frame.writeUInt32LE(payload.length)
  frame.writeUInt32LE(crc32c(payload), 4)
  payload.copy(frame, 8)
  return frame
}
