import type { DialectName } from '../../src/shared/core/endpoint.ts'
import type { Behaviour, Fault } from '../../src/simulator/behaviour.ts'
import type { SeededRandom } from './seeded-random.ts'

/** The way in which a client leaves before the answer is complete. */
export type Leaving =
  /** The client sends this share of the request, 0 to 1, then resets the connection. */
  | { readonly at: 'within the request'; readonly share: number }
  | { readonly at: 'after a while'; readonly ms: number }
  | { readonly at: 'within the answer'; readonly bytes: number }

/** One request of a chaotic client. */
export interface ChaosPlan {
  readonly n: number
  readonly dialect: Extract<DialectName, 'openai-chat' | 'anthropic-messages'>
  /** Requests embeddings; `dialect` is then `openai-chat`. */
  readonly embeds: boolean
  readonly stream: boolean
  readonly behaviour: Behaviour
  /** Uses the entry key with the low concurrency limit. */
  readonly limited: boolean
  readonly leaving: Leaving | null
  /** Leaves with RST instead of FIN. */
  readonly resets: boolean
  /** Stops reading for a while when the answer begins. */
  readonly dawdles: boolean
}

const EMBEDDING_SHARE = 0.1
const LEAVING_SHARE = 0.2
const DAWDLING_SHARE = 0.03
const LIMITED_SHARE = 0.2

const HEALTHY: readonly Behaviour[] = [
  { tokens: 5 },
  { tokens: 40 },
  { tokens: 60, eventsPerSecond: 400 },
  { tokens: 20, ttftMs: 50 },
  { tokens: 3_000 },
]

/** Faults after which the gateway soon uses the key again; after others the key would get no more requests. */
const FAULTS: readonly Fault[] = [
  'accept-close',
  'reset-before-headers',
  'reset-after-headers',
  'reset-mid-stream',
  'close-mid-stream',
  'no-terminal',
  'double-terminal',
  'early-terminal',
  'garbage',
  'garbage-event',
  'split-utf8',
  'byte-by-byte',
  'long-line',
  'truncated-json',
  'error-in-200',
  'error-event-first',
  'error-event-mid',
  'wrong-content-length-short',
  'wrong-content-length-long',
  'redirect',
  'bare-json',
  'html',
  'comments',
  'crlf',
]
const HANGS: readonly Fault[] = ['hang-before-headers', 'hang-after-headers', 'hang-mid-stream', 'slow-bytes']
const STATUSES = [400, 404, 408, 409, 413, 422, 500, 502, 504]

/** The plan of the n-th request: the actions of the client and the behaviour of the upstream. */
export function chaosPlan(n: number, random: SeededRandom): ChaosPlan {
  const embeds = random.next() < EMBEDDING_SHARE
  return {
    n,
    embeds,
    dialect: embeds ? 'openai-chat' : random.pick(['openai-chat', 'anthropic-messages'] as const),
    stream: !embeds && random.next() < 0.6,
    behaviour: behaviourOf(random),
    limited: random.next() < LIMITED_SHARE,
    leaving: random.next() < LEAVING_SHARE ? leavingOf(random) : null,
    resets: random.next() < 0.5,
    dawdles: random.next() < DAWDLING_SHARE,
  }
}

function behaviourOf(random: SeededRandom): Behaviour {
  const die = random.next()
  if (die < 0.75) return random.pick(HEALTHY)
  if (die < 0.95) return { tokens: 20, fault: random.pick(FAULTS) }
  if (die < 0.96) return { tokens: 20, fault: random.pick(HANGS) }
  return { status: random.pick(STATUSES) }
}

function leavingOf(random: SeededRandom): Leaving {
  switch (random.between(0, 2)) {
    case 0:
      return { at: 'within the request', share: random.next() }
    case 1:
      return { at: 'after a while', ms: random.between(0, 60) }
    default:
      return { at: 'within the answer', bytes: random.between(1, 5_000) }
  }
}
