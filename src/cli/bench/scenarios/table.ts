import type { Scenario } from '../scenario.ts'
import { ACCOUNTING } from './accounting.ts'
import { AFFINITY } from './affinity.ts'
import { BUFFERED } from './buffered.ts'
import { FAILOVER } from './failover.ts'
import { REFUSALS } from './refusals.ts'
import { REPLAY } from './replay.ts'
import { KEYS, LARGE, STREAMED, TRANSLATED } from './streams.ts'

/** All scenarios, in the order in which they run. */
export const TABLE: readonly Scenario[] = [
  BUFFERED,
  STREAMED,
  TRANSLATED,
  LARGE,
  KEYS,
  REFUSALS,
  FAILOVER,
  REPLAY,
  AFFINITY,
  ACCOUNTING,
]
