import { openSync, readSync } from 'node:fs'

const STATUS_FILE = '/proc/self/status'
const RESIDENT = /^VmRSS:\s+(\d+) kB$/m
/** Large, because the line comes after the list of groups, which may be long. */
const buffer = Buffer.allocUnsafe(16_384)
let file: number | null = null
let lastBytes = 0

/**
 * Resident memory of this process. Never throws: on a failure it returns the last value. The file stays open, because a process
 * without a free descriptor cannot open it, and neither can `process.memoryUsage()`.
 */
export function residentBytes(): number {
  try {
    file ??= openSync(STATUS_FILE, 'r')
    const text = buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, 0))
    const kilobytes = Number(RESIDENT.exec(text)?.[1])
    if (kilobytes > 0) lastBytes = kilobytes * 1024
  } catch {
    lastBytes = askSystem() ?? lastBytes
  }
  return lastBytes
}

/** For systems without STATUS_FILE. */
function askSystem(): number | null {
  try {
    return process.memoryUsage.rss()
  } catch {
    return null
  }
}
