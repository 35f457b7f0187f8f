import { readFileSync } from 'node:fs'

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  return statusBytes(pid, 'VmRSS')
}

/** Peak resident memory of a process, in bytes. */
export function peakResidentBytes(pid: number): number {
  return statusBytes(pid, 'VmHWM')
}

function statusBytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  if (kilobytes === undefined) throw new Error(`no memory of process ${pid}`)
  return Number(kilobytes) * 1024
}

/** Largest number of unread bytes that the kernel keeps for one TCP connection, on both sides together. */
export function largestSocketBuffers(): number {
  return ['tcp_wmem', 'tcp_rmem']
    .map((name) => Number(readFileSync(`/proc/sys/net/ipv4/${name}`, 'utf8').trim().split(/\s+/)[2]))
    .reduce((sum, bytes) => sum + bytes, 0)
}
