import type { Cause, Level, Pressure } from './pressure.ts'

/** Advice to the operator for each cause. */
const ADVICE: Readonly<Record<Exclude<Cause, 'none'>, string>> = {
  loop: 'if it lasts, give this machine more CPU, start more fronts (server.fronts), or add a machine',
  'in-flight': 'if it lasts, raise limits.max_requests_in_flight or add a machine',
  memory: 'if it lasts, give the front more memory (overload.max_memory_bytes), or add a machine',
  journal: 'check the disk of the data directory: it is full, slow or failing',
  disk: 'free space on the disk of the data directory',
}

/** Describes for the log the level, its cause, its effect on requests, and the remedy. */
export function describeLadder(pressure: Pressure, limit: number): string {
  if (pressure.cause === 'none') return 'overload level 0 of 3: requests are served as usual again'
  return `${describePressure(pressure)}: ${effect(pressure.level, limit)}; ${ADVICE[pressure.cause]}`
}

/** Describes for the health probes the level and its cause, or that the limit is reached. */
export function describeRefusals(pressure: Pressure, limit: number): string {
  return pressure.level === 0
    ? `the limit of ${limit} requests at a time is reached`
    : `${describePressure(pressure)}, ${limit} requests may run at a time`
}

function describePressure(pressure: Pressure): string {
  return `overload level ${pressure.level} of 3 (${causeOf(pressure)})`
}

function causeOf({ cause, value }: Pressure): string {
  switch (cause) {
    case 'none':
      return 'no cause'
    case 'loop':
      return `event loop ${Math.round(value)} ms late`
    case 'in-flight':
      return `${percent(value)} of limits.max_requests_in_flight in use`
    case 'memory':
      return `${percent(value)} of the memory in use`
    case 'journal':
      return `${percent(value)} of the space for unwritten journal records in use`
    case 'disk':
      return `free disk space is ${percent(value)} of overload.min_free_disk_bytes`
  }
}

function effect(level: Level, limit: number): string {
  const waits = 'new requests wait at most 250 ms for an upstream'
  if (level === 3) return `only ${limit} AI requests run at a time, all others get 503`
  return level === 2 ? `${waits}, and at most ${limit} run at a time` : waits
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`
}
