import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

const { writeSync, statfsSync, fdatasync, ftruncateSync } = fs

/** Limits the disk space of one directory, and makes so many syncs and cuts fail, in this process only, until `restore`. */
export class SmallDisk {
  readonly #directory: string
  capacityBytes = Infinity
  failingSyncs = 0
  failingCuts = 0

  constructor(directory: string) {
    this.#directory = directory
    Object.assign(fs, {
      writeSync: (fd: number, bytes: Buffer, offset = 0, length = bytes.length - offset) => {
        const room = Math.min(length, this.#freeBytes())
        if (room <= 0) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
        return writeSync(fd, bytes, offset, room)
      },
      statfsSync: (path: string) => ({ ...statfsSync(path), bavail: this.#freeBytes(), bsize: 1 }),
      fdatasync: (fd: number, then: (failure: Error | null) => void) => {
        if (this.failingSyncs === 0) {
          fdatasync(fd, then)
          return
        }
        this.failingSyncs -= 1
        setImmediate(then, Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }))
      },
      ftruncateSync: (fd: number, length: number) => {
        if (this.failingCuts === 0) {
          ftruncateSync(fd, length)
          return
        }
        this.failingCuts -= 1
        throw Object.assign(new Error('EIO: i/o error, ftruncate'), { code: 'EIO' })
      },
    })
    syncBuiltinESMExports()
  }

  restore(): void {
    Object.assign(fs, { writeSync, statfsSync, fdatasync, ftruncateSync })
    syncBuiltinESMExports()
  }

  #freeBytes(): number {
    const used = fs.readdirSync(this.#directory).reduce((sum, name) => sum + sizeOf(join(this.#directory, name)), 0)
    return Math.max(0, this.capacityBytes - used)
  }
}

function sizeOf(path: string): number {
  return fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
